import { type KeyframeClient, mustSucceed, type StepBody, type SucceededPrediction } from "../../client/index.ts";
import { drawReferencePhoto } from "../../local/simulator/draw/picture.ts";
import type { Stage, StageDisplay } from "../../command-line/show-stages.ts";
import type { Step } from "../../shared/contract/fields.ts";
import type { EventReceiver } from "./expect-events.ts";

const PROMPT = "A lighthouse on a cliff at dusk, waves below, slow camera move towards the sea";

export type DemoOptions = {
  url: string;
  publishableKey: string;
  /** How long one step may take, in ms. */
  timeoutMs: number;
  /** Aborts the demo, which then rejects. */
  signal: AbortSignal;
  display?: Pick<StageDisplay, "onStageStart" | "onStage">;
  /** Ends after the first frame. */
  onlyFrame?: boolean;
  /** Makes the shot with the tools of keyframe-mcp. */
  byAgent?: boolean;
  /** The user who makes it. Default: a new user. */
  user?: { email: string; password: string } | undefined;
  /** Where the film is written as one MP4. Default: nowhere. */
  file?: string | undefined;
  /** A film of so many shots. Default: one shot, from a reference image. */
  shots?: number | undefined;
  /** Makes the film with two characters and a place. */
  withCast?: boolean;
  /** For tests: each step is added when it has succeeded. */
  steps?: Stage[];
};

/** Does one step and notes how long it took. */
export type Timed = <T>(name: string, work: () => Promise<T>, result: (made: T) => string) => Promise<T>;

/** Makes a shot, from project to video, and checks every file and every event. Returns the project. */
export async function makeShot(
  keyframe: KeyframeClient,
  receiver: EventReceiver,
  timed: Timed,
  options: DemoOptions,
  { title = "Lighthouse", filmId }: { title?: string; filmId?: string } = {},
): Promise<string> {
  const { signal, onlyFrame = false } = options;
  const description = "Keep the evening light of the reference image.";
  const project = { title, textPrompt: PROMPT, description, ...(filmId !== undefined && { filmId }) };
  const { projectId } = await timed(
    "project",
    () => keyframe.projects.create(project, { signal }),
    (made) => made.projectId,
  );
  const photo = drawReferencePhoto(title);
  const { referenceImagePath } = await timed(
    "reference",
    () => keyframe.uploadReferenceImage(photo, { signal }),
    (made) => made.referenceImagePath,
  );

  const run = <S extends Step>(step: S, body: StepBody[S]) =>
    timed(step, () => runStep(keyframe, options, step, body), describeOutput);
  await run("first-frame", { projectId, referenceImagePath });
  if (!onlyFrame) {
    const night = "A lighthouse on a cliff in the deep blue of night, waves below";
    await run("last-frame", { projectId, referenceImagePath, prompt: night });
    await run("video", { projectId });
  }
  const generated = Array(onlyFrame ? 1 : 3).fill("generation.succeeded");
  await timed(
    "events",
    () => receiver.eventsOf(projectId, ["project.created", ...generated], filmId),
    (arrived) => `${arrived.length} arrived, all signed: project.created and ${generated.length} generation.succeeded`,
  );
  return projectId;
}

/** Runs one step and downloads its output. Throws when it fails, or when the file is not the one that the API names. */
export async function runStep<S extends Step>(
  keyframe: KeyframeClient,
  { signal, timeoutMs }: Pick<DemoOptions, "signal" | "timeoutMs">,
  step: S,
  body: StepBody[S],
): Promise<SucceededPrediction> {
  const started = await keyframe.generate(step, body, { signal });
  const made = mustSucceed(await keyframe.waitFor(started, { signal, timeoutMs }));
  const { output } = made;
  const response = await fetch(output.url, { signal }).catch(() => {
    throw new Error(`The ${step} cannot be downloaded: no answer from ${new URL(output.url).host}.`);
  });
  if (!response.ok) throw new Error(`The ${step} cannot be downloaded: ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  if (digest !== output.sha256 || bytes.length !== output.bytes)
    throw new Error(`The downloaded ${step} is not the file that was stored.`);
  return made;
}

export function describeOutput({ output }: SucceededPrediction): string {
  const seconds = output.durationSeconds ? `, ${output.durationSeconds} s` : "";
  const sides = output.width === undefined ? output.contentType : `${output.width} × ${output.height}`;
  const size = `${sides}, ${Math.round(output.bytes / 1024)} KiB${seconds}`;
  return `${size}, downloaded: sha256 as stated`;
}
