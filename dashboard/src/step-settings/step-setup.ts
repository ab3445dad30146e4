import type { Model, ModelControl, Shot, Step } from "../../../client/index.ts";
import { completeValues } from "../../../shared/models/complete-values.ts";
import { byPlace, controlName, ELSEWHERE, frameOf, type Value, valuesIn, valueWords } from "../takes/input-words.ts";
import { dollars } from "../ui/money.ts";
import type { StepOptions } from "../queries/plan-edits.ts";

type Controls = Model["controls"];

export type StepSetup = ReturnType<typeof setupOf>;

/** The controls that are offered until the models are read. */
const UNKNOWN: Controls = { firstFrame: {}, lastFrame: {}, aspectRatio: {} };

/** How a step would be made with its settings, by the controls of its model. The service decides. */
export function setupOf(
  models: Model[] | undefined, // undefined until they are read
  step: Step,
  options: StepOptions,
  shot: Pick<Shot, "takes" | "referenceImagePath">,
) {
  /** The model that a start would use. */
  const model = modelOf(models, options);
  const controls = model?.controls ?? UNKNOWN;
  const isVideo = step === "video";
  const hasFirstFrame = (shot.takes["first-frame"] ?? frameOf(options, "firstFrame")) !== null;
  const hasLastFrame = isVideo && (shot.takes["last-frame"] ?? frameOf(options, "lastFrame")) !== null;
  const { first, last } = framesOf(controls, options);
  const usesFirstFrame = isVideo && first;
  const usesLastFrame = hasLastFrame && last;

  const frames = [usesFirstFrame && "firstFrame", usesLastFrame && "lastFrame"].filter((one) => one !== false);
  // A video gets its look from its frames, unless its settings have references.
  const ofProject = isVideo || shot.referenceImagePath === null ? [] : [shot.referenceImagePath];
  const references = options.referenceImagePaths ?? ofProject;
  const { max = 0, excludes = [], countsFrames } = controls.referenceImages ?? {};
  // The first frame is one of the images that a last frame is made from.
  const others = step === "last-frame" ? Number(hasFirstFrame) : countsFrames ? frames.length : 0;
  const mostReferences = frames.some((frame) => excludes.includes(frame)) ? 0 : Math.max(0, max - others);

  const chosen = Object.fromEntries(valuesIn(options).filter(([name, value]) => accepts(controls[name], value)));
  const used = references.length > 0 && mostReferences > 0 ? [...frames, "referenceImages"] : frames;
  const { values, forced } = completeValues(controls, chosen, used);
  return {
    step,
    options,
    models,
    model,
    references,
    mostReferences,
    /** The model makes no video without a first frame. */
    needsFirstFrame: needsFrame(controls),
    usesFirstFrame,
    hasLastFrame,
    usesLastFrame,
    /** The values to show. A forced value does not replace a chosen one: the service refuses values that do not fit together. */
    values: { ...values, ...chosen },
    /** The values that other choices force. */
    forced,
  };
}

/** The id or path of the frame that a shot's next video starts on. Null: there is none, or it is not made yet. */
export function startOf(
  { options, usesFirstFrame }: StepSetup,
  takes: Shot["takes"],
  previous: Shot | null | undefined,
): string | null {
  if (!usesFirstFrame) return null;
  if (options.continuesPreviousShot && previous) return previous.takes.video?.endImagePath ?? null;
  return frameOf(options, "firstFrame") ?? takes["first-frame"]?.predictionId ?? null;
}

/** The chosen model, else the default of the step. */
export const modelOf = (models: Model[] | undefined, { model }: StepOptions): Model | undefined =>
  models?.find((one) => one.model === model) ?? models?.find(({ isDefault }) => isDefault) ?? models?.[0];

/** Without a frame, a video has the requested aspect ratio, which the model must accept. */
const needsFrame = ({ firstFrame, aspectRatio }: Controls): boolean =>
  firstFrame?.required === true || aspectRatio === undefined;

/**
 * Whether a video with these settings starts at a first frame, and ends at a last frame if there is one. A chosen model is used without the
 * frames that it does not accept; the default model refuses them. Postgres has the same rules (keyframe_private.fit_frames);
 * test/db/schema/shared-rules.test.ts compares both.
 */
export function framesOf(controls: Controls = UNKNOWN, options: StepOptions): { first: boolean; last: boolean } {
  const { firstFrame, lastFrame } = controls;
  const isSent = (control: ModelControl | undefined) => control !== undefined || !options.model;
  const isChosen = options.continuesPreviousShot === true || options.firstFramePredictionId !== null;
  const first = isSent(firstFrame) && (isChosen || needsFrame(controls));
  const isPossible = isSent(lastFrame) && (first || !lastFrame?.needs?.includes("firstFrame"));
  return { first, last: isPossible && (options.lastFramePredictionId !== null || lastFrame?.required === true) };
}

/** Texts and numbers of any size are accepted: the service reports what is wrong. */
export const accepts = (control: ModelControl | undefined, value: Value): boolean =>
  control !== undefined && (control.values?.includes(value) ?? true);

/** The controls that are fields of the settings, in the order of display. */
export const settingsOf = ({ controls }: Model): [name: string, ModelControl][] =>
  Object.entries(controls)
    .filter(([name]) => !ELSEWHERE.has(name))
    .toSorted(byPlace);

/** The setup in one line. Empty until the models are read. */
export function setupWords({ model, values, forced }: StepSetup): string[] {
  if (model === undefined) return [];
  const shown = settingsOf(model).flatMap(([name]) => {
    const value = values[name] ?? forced[name];
    if (value === undefined || value === false || name === "negativePrompt") return [];
    const label = controlName(name).toLowerCase();
    return value === true ? label : name === "seed" ? `${label} ${value}` : valueWords(name, value);
  });
  return [model.label, ...shown];
}

const UNITS: Record<Model["prices"][number]["metric"], string> = {
  run: "a run",
  image: "an image",
  output_second: "a second",
  input_megapixel: "an input megapixel",
  output_megapixel: "a megapixel",
  hardware_second: "a second of computing",
};

/** For example “from $0.05 a second”: other settings may cost more. */
export function priceWords({ prices }: Model): string {
  const metrics = [...new Set(prices.map(({ metric }) => metric))];
  const words = metrics.map((metric) => {
    const all = prices.filter((price) => price.metric === metric).map(({ priceUsd }) => priceUsd);
    const lowest = Math.min(...all);
    return `${Math.max(...all) > lowest ? "from " : ""}${dollars(lowest * 1_000_000)} ${UNITS[metric]}`;
  });
  return words.join(" and ") || "price unknown";
}
