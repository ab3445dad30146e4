import { type KeyframeClient, mustSucceed, type StepBody, type SucceededPrediction } from "../../client/index.ts";
import { drawReferencePhoto } from "../../local/simulator/draw/scene.ts";
import type { Step } from "../../shared/contract/fields.ts";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { checkFrame, checkVideo } from "./check-files.ts";
import type { EventReceiver } from "./expect-events.ts";
import { ProgressBar } from "./progress-bar.ts";

const PROMPT = "A lighthouse on a cliff at dusk, waves below, slow camera move towards the sea";

export type DemoOptions = {
  url: string;
  publishableKey: string;
  /** How long one step may take, in ms. */
  timeoutMs: number;
  /** Aborts the demo, which then rejects. */
  signal: AbortSignal;
  write: (text: string) => void;
  /** A film of so many shots. Default: one project without a film. */
  shots?: number | undefined;
  /** Each step is added when it has succeeded. */
  steps: DemoStep[];
};

export type DemoStep = { name: string; ms: number; result: string };

/** Does one step and notes how long it took. */
export type Timed = <T>(name: string, work: () => Promise<T>, result: (made: T) => string) => Promise<T>;

/** From project to video; checks every file and every event. */
export async function makeShot(
  keyframe: KeyframeClient,
  receiver: EventReceiver,
  timed: Timed,
  options: DemoOptions,
): Promise<void> {
  const { write, signal } = options;
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

  const run = <S extends Step>(step: S, body: StepBody[S]) =>
    timed(
      step,
      () => generate(keyframe, step, body, options),
      ({ output }) => `${output.width} × ${output.height}, ${Math.round(output.bytes / 1024)} KiB`,
    );
  write("\n");
  const first = await run("first-frame", { projectId, referenceImagePath });
  const night = `${PROMPT}, now in the deep blue of night`;
  const last = await run("last-frame", { projectId, referenceImagePath, prompt: night });
  const video = await run("video", { projectId });
  write("\n");

  const files = await timed(
    "download",
    () => Promise.all([first, last, video].map((made) => downloadOutput(made, signal))),
    (made) => `${made.length} files, sha256 as stated`,
  );
  const [firstFile, lastFile, videoFile] = files;
  if (!firstFile || !lastFile || !videoFile) throw new Error("Not all three files were downloaded.");
  await timed(
    "check frames",
    () => Promise.all([checkFrame(firstFile, first), checkFrame(lastFile, last)]),
    (sizes) => `PNG ${sizes.join(" and ")}`,
  );
  await timed(
    "check video",
    () => checkVideo(videoFile, firstFile, lastFile, video, signal),
    (said) => said,
  );
  await timed(
    "events",
    () => receiver.eventsOf(projectId, 3),
    (arrived) => `${arrived.length} arrived, each signed: project.created and three generation.succeeded`,
  );
}

/** Starts a step and waits for its end, with a progress bar. Throws when it does not succeed. */
async function generate<S extends Step>(
  keyframe: KeyframeClient,
  step: S,
  body: StepBody[S],
  { write, signal, timeoutMs }: DemoOptions,
): Promise<SucceededPrediction> {
  const started = await keyframe.generate(step, body, { signal });
  const bar = new ProgressBar(step, write);
  const onProgress = ({ progress, status }: Prediction) => bar.show(progress ?? 0, status);
  try {
    return mustSucceed(await keyframe.waitFor(started, { signal, onProgress, timeoutMs: timeoutMs }));
  } finally {
    bar.end();
  }
}

export async function downloadOutput({ step, output }: SucceededPrediction, signal: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(output.url, { signal }).catch(() => {
    throw new Error(`The ${step} cannot be downloaded: no answer from ${new URL(output.url).host}.`);
  });
  if (!response.ok) throw new Error(`The ${step} cannot be downloaded: ${response.status}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  if (digest !== output.sha256) throw new Error(`The ${step} that was downloaded is not the file that was stored.`);
  if (bytes.length !== output.bytes) throw new Error(`The ${step} has ${bytes.length} bytes, not ${output.bytes}.`);
  return bytes;
}
