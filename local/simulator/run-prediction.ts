import { billOf, megapixels } from "./bill.ts";
import type { CallbackSender } from "./callbacks.ts";
import { countImages, type InputSource, loadInputs, makeImages, makeVideo, planVideo } from "./make-output.ts";
import type { Model } from "./models.ts";
import { type Prediction, type Status, Stop } from "./prediction.ts";
import type { SimulatedClock } from "./simulated-clock.ts";
import type { OutputBytes, Outputs } from "./stored-files.ts";

/** The parts of the simulator that a run uses. */
type Stage = InputSource & {
  clock: SimulatedClock;
  callbacks: CallbackSender;
  outputs: Outputs;
  givenFiles: ReadonlyMap<string, Uint8Array>;
};

const IMAGE_STEPS = 28;
const PAUSES = 7;
const DEFAULT_ERROR = "Prediction failed for an unknown reason. It might have run out of memory? (exitcode -9)";
/** Messages of Replicate, and of its models' vendors. */
const INTERRUPTED_ERROR = "Director: unexpected error handling prediction (E9828)";
const rejectedErrors: Record<string, string> = {
  "": "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
  input: "The input image was flagged by the safety review.",
  output: "All generated images contained NSFW content. Try running it again with a different prompt.",
};

/** Runs a prediction: starting, processing with progress in its logs, then its end. Never throws. */
export async function runPrediction(prediction: Prediction, model: Model, stage: Stage): Promise<void> {
  const { callbacks, clock, outputs, settings } = stage;
  const { faults, stop } = prediction;
  const end = (status: Status, error: string | null) => {
    Object.assign(prediction, { status, error, completedAt: new Date(), endedAt: clock.now() });
    // A run is billed in full whatever its end, with two exceptions. The project must not rely on less.
    const isFree = status === "aborted" || (status === "failed" && faults.has("content_rejected"));
    prediction.micros = isFree ? 0 : billOf(prediction.model, prediction.input, prediction.quantities);
    callbacks.send(prediction, "completed");
    prediction.ended.resolve();
  };
  try {
    plan(prediction, model, settings.imageWidth);
    callbacks.send(prediction, "start");
    await clock.wait(settings.startDelayMs, stop.signal);
    stop.signal.throwIfAborted();
    if (faults.has("aborted")) throw new Stop("aborted");
    prediction.status = "processing";
    prediction.startedAt = new Date();
    const made = await work(prediction, model, stage);
    stop.signal.throwIfAborted();
    const urls = made.map((output, index) => `${settings.baseUrl()}${outputs.add(output, index, faults)}`);
    prediction.output = faults.has("output_empty") ? null : shapeOutput(urls, model, faults.get("output_in"));
    if (prediction.output !== null) callbacks.send(prediction, "output");
    end("succeeded", null);
  } catch (error) {
    if (error instanceof Stop) end(error.status, null);
    else end("failed", error instanceof Error ? error.message : String(error));
  }
}

/** The output as the model returns it. `shape` gives an object with these fields ("images*" is a list), or, if empty, a list of lists. */
function shapeOutput(urls: string[], model: Model, shape: string | undefined): unknown {
  if (shape === undefined) return model.output === "images" ? urls : (urls[0] ?? null);
  if (shape === "") return [urls];
  const fields = shape.split(",").map((each) => {
    const name = each.replace("*", "");
    const files = urls.map((url) => `${url}?field=${name}`); // each field has files of its own
    return [name, each.endsWith("*") ? files : files[0]];
  });
  return Object.fromEntries(fields);
}

/** The output of a run. A video has the requested length; pictures have the size that the simulator draws. */
function plan(prediction: Prediction, model: Model, width: number): void {
  const isVideo = model.output === "video";
  const film = planVideo(model, prediction, undefined, width);
  const image = isVideo ? 0 : countImages(model, prediction);
  const output_megapixel = image * megapixels([{ width, height: (width * 9) / 16 }]);
  Object.assign(prediction.quantities, { image, second: isVideo ? film.frames / film.fps : 0, output_megapixel });
}

async function work(prediction: Prediction, model: Model, stage: Stage): Promise<OutputBytes[]> {
  const { clock, settings, callbacks } = stage;
  const { faults, quantities } = prediction;
  const images = await loadInputs(model, prediction, stage);
  const { first, last, references } = images;
  quantities.input_megapixel = megapixels([first, last, ...references].filter((image) => image !== undefined));
  const film = model.output === "video" ? planVideo(model, prediction, first, settings.imageWidth) : undefined;
  const steps = film?.frames ?? IMAGE_STEPS;
  const began = clock.now();
  const report = (done: number) => {
    prediction.logs += progressLine(done, steps, (clock.now() - began) / 1000);
    callbacks.send(prediction, "logs");
  };
  report(0);
  // With a run delay, the pauses are the first half of a video's progress and the encoding is the second.
  const isPaused = settings.runDelayMs > 0;
  const pausedSteps = isPaused ? (film ? Math.floor(steps / 2) : steps - 1) : 0;
  for (let pause = 1; isPaused && pause <= PAUSES; pause++) {
    await clock.wait(settings.runDelayMs / PAUSES, prediction.stop.signal);
    report(Math.floor((pausedSteps * pause) / PAUSES));
  }
  const rejected = faults.get("content_rejected");
  if (faults.has("failed")) throw new Error(faults.get("failed") || DEFAULT_ERROR);
  if (faults.has("interrupted")) throw new Error(INTERRUPTED_ERROR);
  if (rejected !== undefined && rejected !== "output") throw new Error(rejectedErrors[rejected] ?? rejectedErrors[""]);
  if (faults.has("canceled")) throw new Stop("canceled");
  const given = faults.get("output_file");
  if (given !== undefined) return [findFile(given, stage)];
  const made = film
    ? await makeVideo(prediction, images, film, (frame) =>
        report(pausedSteps + Math.floor(((steps - pausedSteps) * frame) / steps)),
      )
    : await makeImages(model, prediction, images, settings.imageWidth);
  report(steps);
  if (rejected === "output") throw new Error(rejectedErrors.output);
  return made;
}

function findFile(name: string, { givenFiles }: Stage): OutputBytes {
  const bytes = givenFiles.get(name);
  if (!bytes) throw new Error(`There is no file "${name}". PUT it to /control/files/${name}.`);
  return { bytes, contentType: "application/octet-stream", extension: /\.(\w+)$/.exec(name)?.[1] ?? "bin" };
}

/** A line of progress as from Python's tqdm, which clients read from `logs`: ` 25%|██▌       | 12/48 [00:03<00:09]`. */
export function progressLine(done: number, total: number, seconds: number): string {
  const share = done / total;
  const bar = "█".repeat(Math.round(share * 10)).padEnd(10);
  const left = share === 0 ? "?" : clock((seconds / share) * (1 - share));
  return `${String(Math.round(share * 100)).padStart(3)}%|${bar}| ${done}/${total} [${clock(seconds)}<${left}]\n`;
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${String(Math.floor(whole / 60)).padStart(2, "0")}:${String(whole % 60).padStart(2, "0")}`;
}
