import type {
  Model,
  ModelControl,
  Prediction,
  ShotPlan,
  ShotPrediction,
  Step,
  StepBody,
  UsedElement,
} from "../../../client/index.ts";
import { completeValues } from "../../../shared/models/complete-values.ts";
import { dollars } from "../ui/money.ts";
import type { LabelOf } from "../queries/use-models.ts";

export type Value = NonNullable<ModelControl["default"]>;

/** Settings for the next prediction of a step. */
export type StepOptions = {
  /** Null: the default of the step. */
  model: string | null;
  /** Empty: the project's prompt. */
  prompt: string;
  /** Null: the project's image, if it has one. */
  references: string[] | null;
  /** The elements of a repeated take: prompt and references already have their texts and images. Null: the project's or film's. */
  elements: UsedElement[] | null;
  /** Replaces the project's frame: the path of an uploaded image, or the id of a frame of another project. */
  firstFrame: string | null;
  lastFrame: string | null;
  /** For a video: it starts where the previous shot ends. */
  continues: boolean;
  usesFirstFrame: boolean;
  usesLastFrame: boolean;
  /** The chosen values, by the names of the controls. An absent control has the model's default. */
  values: Record<string, Value>;
};

export const NO_OPTIONS: StepOptions = {
  model: null,
  prompt: "",
  references: null,
  elements: null,
  firstFrame: null,
  lastFrame: null,
  continues: false,
  usesFirstFrame: true,
  usesLastFrame: true,
  values: {},
};

export type Settings = Partial<Record<Step, StepOptions>>;

/** Settings that a plan does not have: with a seed all takes would be alike, and elements belong to a repeated take. */
export type Passing = Pick<StepOptions, "elements"> & { seed?: Value | undefined };

/** Settings as the plan of a project has them. */
export function planOf(options: StepOptions): NonNullable<ShotPlan["video"]> {
  const { model, prompt, references, firstFrame, lastFrame, continues, usesFirstFrame, usesLastFrame, values } =
    options;
  const { seed: _, ...others } = values;
  return {
    ...others,
    ...(model !== null && { model }),
    ...(prompt.trim() !== "" && { prompt }),
    ...(references !== null && { referenceImagePaths: references }),
    ...(continues
      ? { continuesPreviousShot: true }
      : !usesFirstFrame
        ? { firstFramePredictionId: null }
        : firstFrame !== null && fieldOf("firstFrame", firstFrame)),
    ...(!usesLastFrame ? { lastFramePredictionId: null } : lastFrame !== null && fieldOf("lastFrame", lastFrame)),
  };
}

/** The settings of a plan. A video's plan can have the fields of all steps. */
export function plannedOptions(
  planned: ShotPlan["video"],
  { elements = null, seed }: Partial<Passing> = {},
): StepOptions {
  const { model, prompt, referenceImagePaths, continuesPreviousShot, ...others } = planned ?? {};
  const { firstFramePredictionId, firstFrameImagePath, lastFramePredictionId, lastFrameImagePath, ...values } = others;
  return {
    ...NO_OPTIONS,
    elements,
    model: model ?? null,
    prompt: prompt ?? "",
    references: referenceImagePaths ?? null,
    firstFrame: firstFramePredictionId ?? firstFrameImagePath ?? null,
    lastFrame: lastFramePredictionId ?? lastFrameImagePath ?? null,
    continues: continuesPreviousShot === true,
    usesFirstFrame: firstFramePredictionId !== null,
    usesLastFrame: lastFramePredictionId !== null,
    values: Object.fromEntries(
      Object.entries({ ...values, seed }).flatMap(([name, value]): [string, Value][] =>
        value == null || Array.isArray(value) ? [] : [[name, value]],
      ),
    ),
  };
}

/** Where the next shot's video starts: where this one ends, or at this frame; null: at its own first frame. */
export type Beginning = "end" | { firstFramePredictionId: string } | null;

/** The settings that the next shot copies: neither the prompts nor the frames. */
export function planOfNextShot(plan: ShotPlan, beginning: Beginning): ShotPlan {
  const kept = Object.entries(plan).map(([step, planned]) => {
    const options = { ...plannedOptions(planned), prompt: "", firstFrame: null, lastFrame: null, continues: false };
    return [step, planOf(options)];
  });
  const next: ShotPlan = Object.fromEntries(kept);
  if (beginning === null) return next;
  return { ...next, video: { ...next.video, ...(beginning === "end" ? { continuesPreviousShot: true } : beginning) } };
}

export type FrameRole = "firstFrame" | "lastFrame";

export const isUpload = (frame: string): boolean => frame.startsWith("projects/");

/** The frame of an input, as StepOptions has it. */
export const frameOf = (input: ShotPrediction["input"], role: FrameRole): string | null =>
  input[`${role}PredictionId`] ?? input[`${role}ImagePath`];

const fieldOf = (role: FrameRole, frame: string): Partial<Choices> => ({
  [isUpload(frame) ? `${role}ImagePath` : `${role}PredictionId`]: frame,
});

/** The model that a start would use: the chosen one, or the default of the step. */
export const modelOf = (models: Model[] | undefined, { model }: StepOptions): Model | undefined =>
  models?.find((one) => one.model === model) ?? models?.find(({ isDefault }) => isDefault) ?? models?.[0];

/** Controls with their own place: the prompt, the images, and the aspect ratio, which belongs to the project. */
const ELSEWHERE = new Set(["prompt", "firstFrame", "lastFrame", "referenceImages", "aspectRatio"]);

/** The order of display; other controls follow. */
const ORDER = ["resolution", "durationSeconds", "audio", "seed", "negativePrompt"];
const placeOf = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
const byPlace = ([one]: [string, unknown], [other]: [string, unknown]): number => placeOf(one) - placeOf(other);

export const settingsOf = ({ controls }: Model): [name: string, ModelControl][] =>
  Object.entries(controls)
    .filter(([name]) => !ELSEWHERE.has(name))
    .toSorted(byPlace);

/** The project's values for the next prediction of a step. */
export type Given = { step: Step; references: string[]; hasFirstFrame: boolean; hasLastFrame: boolean };

/** The frames that a video would be made with, as controls. */
const framesOf = (model: Model | undefined, options: StepOptions, { step, hasLastFrame }: Frames): string[] =>
  step === "video"
    ? [
        ...(takesFirstFrame(model, options) ? ["firstFrame"] : []),
        ...(hasLastFrame && takesLastFrame(model, options) ? ["lastFrame"] : []),
      ]
    : [];
type Frames = Omit<Given, "references">;

/** How many reference images can be chosen. For a last frame, the first frame is one of them. */
export function maxReferences(model: Model, options: StepOptions, given: Frames): number {
  const { max = 0, excludes = [], countsFrames } = model.controls.referenceImages ?? {};
  const frames = framesOf(model, options, given);
  if (frames.some((frame) => excludes.includes(frame))) return 0;
  const others = given.step === "last-frame" ? Number(given.hasFirstFrame) : countsFrames ? frames.length : 0;
  return Math.max(0, max - others);
}

/** The image controls that are used. */
export const usedImages = (model: Model | undefined, options: StepOptions, given: Given): string[] => [
  ...framesOf(model, options, given),
  ...(model && given.references.length > 0 && maxReferences(model, options, given) > 0 ? ["referenceImages"] : []),
];

/** The models that accept these reference images, with or without the chosen first frame. */
export const takersOf = (models: Model[], options: StepOptions, given: Given): Model[] =>
  models.filter(
    (one) =>
      one.available &&
      (given.step !== "video" || takesFirstFrame(one, options) === options.usesFirstFrame) &&
      given.references.length <= maxReferences(one, options, given),
  );

/** Controls whose value other choices force. */
export function forcedValues(model: Model, { values }: StepOptions, used: string[]): Record<string, Value> {
  const asked = Object.entries(values).filter(([name, value]) => chosenValue(model, name, values) === value);
  return completeValues(model.controls, Object.fromEntries(asked), used).forced;
}

/** The chosen value if the model accepts it, else its default. */
export function chosenValue({ controls }: Model, name: string, chosen: Record<string, Value>): Value | undefined {
  const control = controls[name];
  const value = chosen[name];
  return value !== undefined && control !== undefined && takes(control, value) ? value : control?.default;
}

/** Texts and numbers of any size are sent: the service reports what is wrong. */
const takes = ({ values }: ModelControl, value: Value): boolean => values === undefined || values.includes(value);

export type Choices = Omit<StepBody["video"], "projectId">;

/** The fields of a start. What is the model's default or forced is left to the service. */
export function choicesOf(model: Model | undefined, options: StepOptions, given: Given): Choices {
  const { prompt, elements, model: named, values, firstFrame, lastFrame, continues } = options;
  const { step, references, hasLastFrame } = given;
  const withFirstFrame = step !== "video" || takesFirstFrame(model, options);
  const withLastFrame = hasLastFrame && takesLastFrame(model, options);
  const forced = model ? forcedValues(model, options, usedImages(model, options, given)) : {};
  const chosen = model
    ? settingsOf(model).flatMap(([name]) => {
        const value = chosenValue(model, name, values);
        return value === undefined || value === "" || values[name] !== value || name in forced ? [] : [[name, value]];
      })
    : [];
  // Too many images are sent and refused: the user decides which to leave out.
  const images = model && maxReferences(model, options, given) === 0 ? [] : references;
  return {
    ...(prompt.trim() === "" ? {} : { prompt }),
    ...(named !== null && named === model?.model ? { model: named } : {}),
    ...(elements ? { elements } : {}),
    ...(images.length > 0 || options.references !== null ? { referenceImagePaths: images } : {}),
    ...(continues && step === "video"
      ? { continuesPreviousShot: true }
      : !withFirstFrame
        ? { firstFramePredictionId: null }
        : firstFrame === null
          ? {}
          : fieldOf("firstFrame", firstFrame)),
    ...(withLastFrame && lastFrame !== null ? fieldOf("lastFrame", lastFrame) : {}),
    ...((hasLastFrame || !withFirstFrame) && !withLastFrame ? { lastFramePredictionId: null } : {}),
    // Null, so that the plan's values for another model, or forced ones, do not apply.
    ...Object.fromEntries(Object.keys(values).map((name) => [name, null])),
    ...Object.fromEntries(chosen),
  };
}

/** Also false for a model without a last frame, or one that needs a first frame with it: then the video is made without it. */
export const takesLastFrame = (model: Model | undefined, options: StepOptions): boolean => {
  const { lastFrame } = model?.controls ?? { lastFrame: {} };
  const isAlone = !takesFirstFrame(model, options);
  return options.usesLastFrame && lastFrame !== undefined && !(isAlone && lastFrame.needs?.includes("firstFrame"));
};

/** Also true for a model that cannot make a video without a frame. */
export const takesFirstFrame = (model: Model | undefined, { usesFirstFrame, continues }: StepOptions): boolean =>
  model === undefined
    ? usesFirstFrame || continues
    : model.controls.firstFrame !== undefined && (usesFirstFrame || continues || !makesWithoutFrame(model));

/** Without a frame, the video has the requested aspect ratio. */
export const makesWithoutFrame = ({ controls }: Model): boolean =>
  controls.firstFrame?.required !== true && controls.aspectRatio !== undefined;

/**
 * The settings that repeat a prediction, without values that the current models do not accept, which `leftOut` names. `projectPrompt` is
 * what an empty prompt stands for; `frames` are not the project's. `aspectRatio`: for the project; null: as it is.
 */
export function optionsOf(
  { step, input, model }: Prediction,
  models: Model[] | undefined,
  labelOf: LabelOf,
  projectPrompt: string,
  frames: Partial<Pick<StepOptions, FrameRole>>,
): { options: StepOptions; aspectRatio: string | null; leftOut: string[] } {
  const { prompt, referenceImagePaths, elements, aspectRatio } = input;
  const same = models?.find((one) => one.model === model);
  const withLastFrame = frameOf(input, "lastFrame") !== null;
  const options: StepOptions = {
    ...NO_OPTIONS,
    model: same?.isDefault === false ? model : null,
    prompt: prompt === projectPrompt ? "" : prompt,
    references: referenceImagePaths,
    elements,
    ...frames,
    continues: input.continuesPreviousShot === true,
    usesFirstFrame: step !== "video" || frameOf(input, "firstFrame") !== null,
    usesLastFrame: withLastFrame,
    values: Object.fromEntries(valuesOf(input)),
  };
  const now = modelOf(models, options);
  if (now === undefined) return { options, aspectRatio, leftOut: [] };
  const isTaken = (name: string, value: Value) => {
    const control = now.controls[name];
    return control === undefined ? value === false : takes(control, value);
  };
  const hasFirstFrame = frameOf(input, "firstFrame") !== null;
  const most = maxReferences(now, options, { step, hasFirstFrame, hasLastFrame: withLastFrame });
  const others = valuesOf(input).filter(([name, value]) => !isTaken(name, value));
  const isRatioTaken =
    aspectRatio === null || now.controls.aspectRatio === undefined || isTaken("aspectRatio", aspectRatio);
  const leftOut = [
    same === undefined && `the model ${labelOf(model)}`,
    ...others.map(([name, value]) => `${controlName(name).toLowerCase()} ${valueWords(name, value)}`),
    !isRatioTaken && `aspect ratio ${aspectRatio}`,
    referenceImagePaths.length > most && `${referenceImagePaths.length - most} of its reference images`,
    withLastFrame && !takesLastFrame(now, options) && "the last frame",
  ].filter((words) => words !== false);
  for (const [name] of others) delete options.values[name];
  options.references = referenceImagePaths.slice(0, most);
  return { options, aspectRatio: isRatioTaken ? aspectRatio : null, leftOut };
}

/** The settings without the elements of the repeated take: the next one gets the current elements of its project or film. */
export function withoutElements({ prompt, references, elements }: StepOptions): Partial<StepOptions> {
  const texts = (elements ?? []).flatMap(({ name, text }) => (text === "" ? [] : [`${name}: ${text}`])).join("\n");
  const images = (elements ?? []).flatMap(({ imagePaths }) => imagePaths);
  return {
    elements: null,
    prompt: texts !== "" && prompt.endsWith(`\n\n${texts}`) ? prompt.slice(0, -texts.length - 2) : prompt,
    references: references?.filter((path) => !images.includes(path)) ?? null,
  };
}

const OF_IMAGE = /(PredictionId|ImagePaths?|PreviousShot)$/;

/** The input of a prediction, except its prompt, ratio and images. */
const valuesOf = (input: Prediction["input"]): [string, Value][] =>
  Object.entries(input)
    .flatMap(([name, value]): [string, Value][] =>
      value === null || typeof value === "object" || ELSEWHERE.has(name) || OF_IMAGE.test(name) ? [] : [[name, value]],
    )
    .toSorted(byPlace);

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

const NAMES: Record<string, string> = { negativePrompt: "Avoid", durationSeconds: "Length", audio: "Sound" };

/** The label of a control; an unknown one shows its name. */
export const controlName = (name: string): string => NAMES[name] ?? name.charAt(0).toUpperCase() + name.slice(1);

export const valueWords = (name: string, value: Value): string =>
  typeof value === "boolean" ? (value ? "on" : "off") : name === "durationSeconds" ? `${value} s` : String(value);

/** In one line: the settings of the next prediction. */
export function settingWords(model: Model, options: StepOptions, used: string[]): string[] {
  const forced = forcedValues(model, options, used);
  const values = settingsOf(model).flatMap(([name]) => {
    const value = forced[name] ?? chosenValue(model, name, options.values);
    if (value === undefined || value === false || name === "negativePrompt") return [];
    const label = controlName(name).toLowerCase();
    return value === true ? label : name === "seed" ? `${label} ${value}` : valueWords(name, value);
  });
  return [model.label, ...values];
}

/** `frames`: paths or ids, as StepOptions has them, in place of words. */
export type Fact = { name: string; words: string; frames?: string[] };

/** The whole input of a prediction. */
export function factsOf({ input, model, requestedModel }: Prediction, labelOf: LabelOf): Fact[] {
  const images = (name: string, frames: (string | null)[]): Fact[] => {
    const given = frames.filter((frame) => frame !== null);
    return given.length === 0 ? [] : [{ name, words: given.join(), frames: given }];
  };
  return [
    {
      name: "Model",
      words: (requestedModel === null ? [model] : [model, requestedModel]).map(labelOf).join(" instead of "),
    },
    ...(input.aspectRatio === null ? [] : [{ name: "Ratio", words: input.aspectRatio }]),
    ...valuesOf(input).map(([name, value]) => ({ name: controlName(name), words: valueWords(name, value) })),
    { name: "Prompt", words: input.prompt },
    ...(input.elements.length === 0
      ? []
      : [{ name: "Elements", words: input.elements.map(({ name }) => name).join(", ") }]),
    ...images("First frame", [frameOf(input, "firstFrame")]),
    ...images("Last frame", [frameOf(input, "lastFrame")]),
    ...images("References", input.referenceImagePaths),
  ];
}
