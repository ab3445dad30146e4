import { createClient } from "@supabase/supabase-js";
import {
  createKeyframeClient,
  type KeyframeClient,
  mustSucceed,
  type SucceededPrediction,
} from "../../client/index.ts";
import { drawReferencePhoto } from "../../local/simulator/draw/scene.ts";
import type { Stage, StageDisplay } from "../../local/stack/command-line.ts";
import { type EventReceiver, registerReceiver } from "./expect-events.ts";

const PROMPT = "A lighthouse on a cliff at dusk, waves below, slow camera move towards the sea";

type DemoOptions = {
  url: string;
  publishableKey: string;
  /** How long one step may take, in ms. */
  timeoutMs: number;
  /** Aborts the demo, which then rejects. */
  signal: AbortSignal;
  display?: Pick<StageDisplay, "onStageStart" | "onStage">;
  /** Ends after the first frame. */
  onlyFrame?: boolean;
  /** Each step is added when it has succeeded. */
  steps: Stage[];
};

/** Makes a film as a new user would, through Auth and the HTTP API only. Throws at the first failure. */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { url, publishableKey, signal, steps, display } = options;
  const timed: Timed = async (name, work, result) => {
    signal.throwIfAborted();
    display?.onStageStart(name);
    const start = performance.now();
    const made = await work();
    const step = { name, ms: Math.round(performance.now() - start), result: result(made) };
    steps.push(step);
    display?.onStage(step);
    return made;
  };

  const supabase = createClient(url, publishableKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { fetch: (input, init) => fetch(input, { ...init, signal }) },
  });
  const email = `film-${crypto.randomUUID().slice(0, 8)}@keyframe.local`;
  const session = await timed(
    "sign up",
    async () => {
      const { data, error } = await supabase.auth.signUp({ email, password: crypto.randomUUID() });
      if (error || !data.session) throw new Error(`Signing up failed: ${error?.message ?? "no session was given"}`);
      return data.session;
    },
    () => email,
  );
  const keyframe = createKeyframeClient({ url, apikey: publishableKey, getToken: () => session.access_token });
  const receiver = await timed(
    "webhook",
    () => registerReceiver(keyframe, signal),
    () => "a receiver on this machine, registered",
  );
  try {
    await makeFilm(keyframe, receiver, timed, options);
  } finally {
    await receiver.stop();
  }
}

/** Does one step and notes how long it took. */
type Timed = <T>(name: string, work: () => Promise<T>, result: (made: T) => string) => Promise<T>;

/** From project to video; checks every file and every event. */
async function makeFilm(
  keyframe: KeyframeClient,
  receiver: EventReceiver,
  timed: Timed,
  { signal, timeoutMs, onlyFrame = false }: DemoOptions,
): Promise<void> {
  const { projectId } = await timed(
    "project",
    () =>
      keyframe.createProject(
        {
          title: "Lighthouse",
          textPrompt: PROMPT,
          description: "Keep the evening light of the reference image.",
        },
        { signal },
      ),
    (made) => made.projectId,
  );
  const photo = drawReferencePhoto(projectId);
  const { referenceImagePath } = await timed(
    "reference",
    () => keyframe.uploadReferenceImage(photo, { signal }),
    (made) => made.referenceImagePath,
  );

  const run = async (...[step, body]: Parameters<typeof keyframe.generate>) => {
    const make = async () => {
      const started = await keyframe.generate(step, body, { signal });
      const made = mustSucceed(await keyframe.waitFor(started, { signal, timeoutMs }));
      await expectStored(made, signal);
      return made;
    };
    await timed(step, make, ({ output }) => {
      const size = `${output.width} × ${output.height}, ${Math.round(output.bytes / 1024)} KiB`;
      return `${size}${output.durationSeconds ? `, ${output.durationSeconds} s` : ""}, downloaded: sha256 as stated`;
    });
  };
  await run("first-frame", { projectId, referenceImagePath });
  if (!onlyFrame) {
    const night = `${PROMPT}, now in the deep blue of night`;
    await run("last-frame", { projectId, referenceImagePath, prompt: night });
    await run("video", { projectId });
  }
  const generated = Array(onlyFrame ? 1 : 3).fill("generation.succeeded");
  await timed(
    "events",
    () => receiver.filmEvents(projectId, ["project.created", ...generated]),
    (arrived) => `${arrived.length} arrived, each signed: project.created and ${generated.length} generation.succeeded`,
  );
}

/** Downloads the output. Throws when it is not the file that the API names. */
async function expectStored({ step, output }: SucceededPrediction, signal: AbortSignal): Promise<void> {
  const response = await fetch(output.url, { signal }).catch(() => {
    throw new Error(`The ${step} cannot be downloaded: no answer from ${new URL(output.url).host}.`);
  });
  if (!response.ok) throw new Error(`The ${step} cannot be downloaded: ${response.status}`);
  const bytes = await response.arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  if (digest !== output.sha256 || bytes.byteLength !== output.bytes)
    throw new Error(`The ${step} that was downloaded is not the file that was stored.`);
}
