import type { Model, ModelControl, Prediction, Shot, ShotPlan, Step, UsedElement } from "../../../client/index.ts";
import { completeValues } from "../../../shared/models/complete-values.ts";
import type { LabelOf } from "../queries/use-models.ts";
import { dollars } from "../ui/money.ts";
import {
  byPlace,
  controlName,
  ELSEWHERE,
  type FrameRole,
  frameOf,
  isUpload,
  type Value,
  valuesIn,
  valueWords,
} from "../takes/input-words.ts";

/**
 * Settings for the next prediction of a step: the project's plan, and what no plan has: a seed, and the elements of a repeated take. The
 * plan of a video can have the fields of all steps.
 */
export type StepOptions = NonNullable<ShotPlan["video"]> & Passing;
export type Passing = { seed?: number | null | undefined; elements?: UsedElement[] | null | undefined };

/** Where the next shot's video starts; null: at its own first frame. */
export type Beginning = Pick<StepOptions, "continuesPreviousShot" | "firstFramePredictionId"> | null;

const OF_ONE_SHOT = /^prompt$|Frame(PredictionId|ImagePath)$|^continuesPreviousShot$/;

/** The settings that the next shot copies: neither the prompts nor the frames. */
export function planOfNextShot(plan: ShotPlan, beginning: Beginning): ShotPlan {
  const kept = Object.entries(plan).map(([step, planned]) => {
    const isKept = ([name, value]: [string, unknown]) => value === null || !OF_ONE_SHOT.test(name); // null: no frame
    return [step, Object.fromEntries(Object.entries(planned ?? {}).filter(isKept))];
  });
  const next: ShotPlan = Object.fromEntries(kept);
  return beginning === null
    ? next
    : { ...next, video: { ...next.video, firstFramePredictionId: undefined, ...beginning } };
}

/** The fields of a frame: a path, an id, null for none, undefined for the project's. */
export const fieldsOf = (role: FrameRole, frame: string | null | undefined): Partial<StepOptions> => ({
  [`${role}PredictionId`]: frame && isUpload(frame) ? undefined : frame,
  [`${role}ImagePath`]: frame && isUpload(frame) ? frame : undefined,
});

/** The model that a start would use: the chosen one, or the default of the step. */
export const modelOf = (models: Model[] | undefined, { model }: StepOptions): Model | undefined =>
  models?.find((one) => one.model === model) ?? models?.find(({ isDefault }) => isDefault) ?? models?.[0];

export const settingsOf = ({ controls }: Model): [name: string, ModelControl][] =>
  Object.entries(controls)
    .filter(([name]) => !ELSEWHERE.has(name))
    .toSorted(byPlace);

/** The project's values for the next prediction of a step. */
export type Given = { step: Step; references: string[]; hasFirstFrame: boolean; hasLastFrame: boolean };

/** A video takes its look from its frames, unless its settings have references. */
export function givenOf(
  { takes, referenceImagePath }: Pick<Shot, "takes" | "referenceImagePath">,
  step: Step,
  options: StepOptions,
): Given {
  const ofProject = step === "video" || referenceImagePath === null ? [] : [referenceImagePath];
  return {
    step,
    references: options.referenceImagePaths ?? ofProject,
    hasFirstFrame: (takes["first-frame"] ?? frameOf(options, "firstFrame")) !== null,
    hasLastFrame: step === "video" && (takes["last-frame"] ?? frameOf(options, "lastFrame")) !== null,
  };
}

/** Without a frame, the video has the requested aspect ratio. */
export const makesWithoutFrame = ({ controls }: Model): boolean =>
  controls.firstFrame?.required !== true && controls.aspectRatio !== undefined;

/** Whether a video starts at a frame. Also true for a model that cannot make a video without a frame. */
export function usesFirstFrame(model: Model | undefined, options: StepOptions): boolean {
  const isChosen = options.continuesPreviousShot === true || options.firstFramePredictionId !== null;
  return model ? model.controls.firstFrame !== undefined && (isChosen || !makesWithoutFrame(model)) : isChosen;
}

/** Also false for a model without a last frame, or one that needs a first frame with it. */
export function usesLastFrame(model: Model | undefined, options: StepOptions): boolean {
  const { lastFrame } = model?.controls ?? { lastFrame: {} };
  const isPossible = lastFrame && (usesFirstFrame(model, options) || !lastFrame.needs?.includes("firstFrame"));
  return options.lastFramePredictionId !== null && Boolean(isPossible);
}

/** The frames that a video would be made with, as controls. */
const framesOf = (model: Model, options: StepOptions, { step, hasLastFrame }: Given): string[] => [
  ...(step === "video" && usesFirstFrame(model, options) ? ["firstFrame"] : []),
  ...(step === "video" && hasLastFrame && usesLastFrame(model, options) ? ["lastFrame"] : []),
];

/** How many reference images can be chosen. For a last frame, the first frame is one of them. */
export function maxReferences(model: Model, options: StepOptions, given: Given): number {
  const { max = 0, excludes = [], countsFrames } = model.controls.referenceImages ?? {};
  const frames = framesOf(model, options, given);
  if (frames.some((frame) => excludes.includes(frame))) return 0;
  const others = given.step === "last-frame" ? Number(given.hasFirstFrame) : countsFrames ? frames.length : 0;
  return Math.max(0, max - others);
}

/** The values to show, and those that other choices force. A chosen value is not replaced: the service refuses values that do not fit together. */
export function valuesOf(model: Model, options: StepOptions, given: Given) {
  const asked = valuesIn(options).filter(([name, value]) => takes(model.controls[name], value));
  const hasReferences = given.references.length > 0 && maxReferences(model, options, given) > 0;
  const used = [...framesOf(model, options, given), ...(hasReferences ? ["referenceImages"] : [])];
  const { values, forced } = completeValues(model.controls, Object.fromEntries(asked), used);
  return { values: { ...values, ...Object.fromEntries(asked) }, forced };
}

/** Texts and numbers of any size are accepted: the service reports what is wrong. */
const takes = (control: ModelControl | undefined, value: Value): boolean =>
  control !== undefined && (control.values?.includes(value) ?? true);

/**
 * The settings that repeat a prediction, without values that the current model does not accept, which `leftOut` names. `projectPrompt` is
 * what a missing prompt stands for; `frames` are not the project's. `aspectRatio`: for the project; null: as it is.
 */
export function optionsOf(
  { step, input, model }: Prediction,
  models: Model[] | undefined,
  labelOf: LabelOf,
  projectPrompt: string,
  frames: Partial<StepOptions>,
): { options: StepOptions; aspectRatio: string | null; leftOut: string[] } {
  const { prompt, referenceImagePaths, elements, aspectRatio, continuesPreviousShot } = input;
  const same = models?.find((one) => one.model === model);
  const made: StepOptions = {
    ...(same?.isDefault === false && { model }),
    ...(prompt !== projectPrompt && { prompt }),
    ...(step === "video" && !frameOf(input, "firstFrame") && fieldsOf("firstFrame", null)),
    ...(step === "video" && !frameOf(input, "lastFrame") && fieldsOf("lastFrame", null)),
    ...frames,
    ...(continuesPreviousShot && { ...fieldsOf("firstFrame", undefined), continuesPreviousShot }),
    referenceImagePaths,
    elements,
  };
  const now = modelOf(models, made);
  const isTaken = ([name, value]: [string, Value]) =>
    now === undefined || takes(now.controls[name], value) || (value === false && now.controls[name] === undefined);
  const isRatioTaken = !aspectRatio || now?.controls.aspectRatio === undefined || isTaken(["aspectRatio", aspectRatio]);
  const values = valuesIn(input);
  const leftOut = [
    models !== undefined && same === undefined && `the model ${labelOf(model)}`,
    ...values
      .filter((one) => !isTaken(one))
      .map(([name, value]) => `${controlName(name).toLowerCase()} ${valueWords(name, value)}`),
    !isRatioTaken && `aspect ratio ${aspectRatio}`,
    frameOf(input, "lastFrame") !== null && !usesLastFrame(now, made) && "the last frame",
  ].filter((words) => words !== false);
  const options = { ...Object.fromEntries(values.filter(isTaken)), ...made };
  return { options, aspectRatio: isRatioTaken ? aspectRatio : null, leftOut };
}

/** Takes the elements of the repeated take out of the settings: the next one gets the current elements of its project or film. */
export function withoutElements({ prompt, referenceImagePaths, elements }: StepOptions): StepOptions {
  const texts = (elements ?? []).flatMap(({ name, text }) => (text === "" ? [] : [`${name}: ${text}`])).join("\n");
  const images = (elements ?? []).flatMap(({ imagePaths }) => imagePaths);
  return {
    elements: undefined,
    prompt: texts !== "" && prompt?.endsWith(`\n\n${texts}`) ? prompt.slice(0, -texts.length - 2) : prompt,
    referenceImagePaths: referenceImagePaths?.filter((path) => !images.includes(path)),
  };
}

const UNITS: Record<Model["prices"][number]["metric"], string> = {
  run: "a run",
  image: "an image",
  output_second: "a second",
  input_megapixel: "a megapixel given",
  output_megapixel: "a megapixel",
  hardware_second: "a second of computing",
};

/** Such as “from $0.05 a second”: its prices for other settings may be higher. */
export function priceWords({ prices }: Model): string {
  const metrics = [...new Set(prices.map(({ metric }) => metric))];
  const words = metrics.map((metric) => {
    const all = prices.filter((price) => price.metric === metric).map(({ priceUsd }) => priceUsd);
    const lowest = Math.min(...all);
    return `${Math.max(...all) > lowest ? "from " : ""}${dollars(lowest * 1_000_000)} ${UNITS[metric]}`;
  });
  return words.join(" and ") || "price unknown";
}

/** In one line: the settings of the next prediction. */
export function settingWords(model: Model, options: StepOptions, given: Given): string[] {
  const { values, forced } = valuesOf(model, options, given);
  const shown = settingsOf(model).flatMap(([name]) => {
    const value = values[name] ?? forced[name];
    if (value === undefined || value === false || name === "negativePrompt") return [];
    const label = controlName(name).toLowerCase();
    return value === true ? label : name === "seed" ? `${label} ${value}` : valueWords(name, value);
  });
  return [model.label, ...shown];
}
