import { type Account, megapixels } from "./bill.ts";
import type { CallbackSender } from "./callbacks.ts";
import { countImages, loadInputs, makeImages, makeVideo, planVideo, type Studio } from "./make-output.ts";
import type { Model } from "./models.ts";
import { type Prediction, type Quantities, type Status, Stop } from "./prediction.ts";
import type { SimulatedClock } from "./simulated-clock.ts";
import type { OutputBytes, Outputs } from "./stored-files.ts";

/** How long a prediction waits before it starts, and how long it runs in addition to the drawing. */
export type Delays = { startMs: number; runMs: number };

type Stage = {
  clock: SimulatedClock;
  callbacks: CallbackSender;
  account: Account;
  outputs: Outputs;
  studio: Studio;
  delays: Readonly<Delays>;
};

const imageSteps = 28;
const pauses = 7;
const defaultError = "Prediction failed for an unknown reason. It might have run out of memory? (exitcode -9)";
/** Of Replicate, and of the vendors of its models. */
const interruptedError = "Director: unexpected error handling prediction (E9828)";
const rejectedErrors = {
  "": "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
  input: "The input image was flagged by the safety review.",
  output: "All generated images contained NSFW content. Try running it again with a different prompt.",
};

/** Runs a prediction: starting, processing with progress in its logs, then its end. Never throws. */
export async function runPrediction(prediction: Prediction, model: Model, stage: Stage): Promise<void> {
  const { callbacks, clock, delays } = stage;
  const { faults, stop } = prediction;
  prediction.quantities = plannedQuantities(model, prediction, stage.studio);
  try {
    callbacks.send(prediction, "start");
    if (delays.startMs > 0) await clock.wait(delays.startMs, stop.signal);
    stop.signal.throwIfAborted();
    if (faults.has("aborted")) throw new Stop("aborted");
    prediction.status = "processing";
    prediction.startedAt = clock.wall();
    const made = await work(prediction, model, stage);
    stop.signal.throwIfAborted();
    const urls = made.map((output, index) => {
      return `${stage.studio.source.baseUrl}${stage.outputs.add(output, index, faults)}`;
    });
    prediction.output = faults.has("output_empty") ? null : model.output === "images" ? urls : (urls[0] ?? null);
    if (prediction.output !== null) callbacks.send(prediction, "output");
    end(prediction, "succeeded", null, stage);
  } catch (error) {
    if (error instanceof Stop) end(prediction, error.status, null, stage);
    else end(prediction, "failed", error instanceof Error ? error.message : String(error), stage);
  }
}

async function work(prediction: Prediction, model: Model, stage: Stage): Promise<OutputBytes[]> {
  const { faults } = prediction;
  const images = await loadInputs(model, prediction, stage.studio);
  const { first, last, references } = images;
  const loaded = [first, last, ...references].flatMap((one) => (one ? [one.image] : []));
  prediction.quantities.input_megapixel = megapixels(loaded);
  const plan = model.output === "video" ? planVideo(model, prediction, images, stage.studio) : null;
  const steps = plan ? plan.frames : imageSteps;
  const report = progressReporter(prediction, steps, stage);
  // With a run delay, that is the first half of a video's progress and the encoding is the second.
  const paused = stage.delays.runMs > 0;
  // A picture reports 0 when its drawing begins.
  if (paused || plan || faults.has("failed") || faults.has("canceled")) report(0);
  const pausedSteps = paused ? (plan ? Math.floor(steps / 2) : steps - 1) : 0;
  for (let pause = 1; paused && pause <= pauses; pause++) {
    await stage.clock.wait(stage.delays.runMs / pauses, prediction.stop.signal);
    report(Math.floor((pausedSteps * pause) / pauses));
  }
  if (faults.has("failed")) throw new Error(faults.get("failed") || defaultError);
  if (faults.has("interrupted")) throw new Error(interruptedError);
  const rejected = faults.get("content_rejected");
  if (rejected !== undefined && rejected !== "output")
    throw new Error(rejectedErrors[rejected === "input" ? rejected : ""]);
  if (faults.has("canceled")) throw new Stop("canceled");
  const onProgress = (frame: number) => report(pausedSteps + Math.floor(((steps - pausedSteps) * frame) / steps));
  const made = plan
    ? [await makeVideo(prediction, images, plan, stage.studio, onProgress)]
    : await makeImages(model, prediction, images, stage.studio, () => report(0));
  report(steps);
  if (rejected === "output") throw new Error(rejectedErrors.output);
  return made;
}

/** What a run is to make. A video is as long as was asked for; pictures have the size that the simulator draws. */
function plannedQuantities(model: Model, prediction: Prediction, studio: Studio): Quantities {
  const isVideo = model.output === "video";
  const width = studio.imageWidth;
  const image = isVideo ? 0 : countImages(model, prediction);
  const film = isVideo ? planVideo(model, prediction, { first: null, last: null, references: [] }, studio) : null;
  const second = film ? film.frames / film.fps : 0;
  const output_megapixel = image * megapixels([{ width, height: (width * 9) / 16 }]);
  return { run: 1, image, second, input_megapixel: 0, output_megapixel };
}

function progressReporter(prediction: Prediction, steps: number, stage: Stage): (done: number) => void {
  const began = stage.clock.now();
  let last = -1;
  return (done) => {
    if (done <= last || prediction.stop.signal.aborted) return;
    last = done;
    prediction.logs += progressLine(done, steps, (stage.clock.now() - began) / 1000);
    stage.callbacks.send(prediction, "logs");
  };
}

function end(prediction: Prediction, status: Status, error: string | null, { clock, callbacks, account }: Stage): void {
  prediction.status = status;
  prediction.error = error;
  prediction.completedAt = clock.wall();
  prediction.endedAt = clock.now();
  // In full, whatever its end, except two: the project must not rely on less.
  prediction.isBilled = status !== "aborted" && !(status === "failed" && prediction.faults.has("content_rejected"));
  account.add(prediction);
  callbacks.send(prediction, "completed");
  prediction.markEnded();
}

/** A line of progress as from Python's tqdm, which clients read from `logs`: ` 25%|██▌       | 12/48 [00:03<00:09]`. */
export function progressLine(done: number, total: number, seconds: number): string {
  const share = total === 0 ? 1 : done / total;
  const bar = "█".repeat(Math.round(share * 10)).padEnd(10);
  const left = share === 0 ? "?" : clock((seconds / share) * (1 - share));
  return `${String(Math.round(share * 100)).padStart(3)}%|${bar}| ${done}/${total} [${clock(seconds)}<${left}]\n`;
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${String(Math.floor(whole / 60)).padStart(2, "0")}:${String(whole % 60).padStart(2, "0")}`;
}
