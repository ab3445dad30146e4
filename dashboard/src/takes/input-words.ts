import type { ModelControl, Prediction, ShotPlan } from "../../../client/index.ts";
import type { LabelOf } from "../queries/use-models.ts";
import { capitalized } from "../ui/words.ts";

/** The input of a prediction, or the part of it that a plan has. */
type Input = Prediction["input"] | NonNullable<ShotPlan["video"]>;

export type Value = NonNullable<ModelControl["default"]>;

export type FrameRole = "firstFrame" | "lastFrame";

export const isUpload = (frame: string): boolean => frame.startsWith("projects/");

/** The path or the id of the frame of an input or of settings. */
export const frameOf = (input: Input, role: FrameRole): string | null =>
  input[`${role}PredictionId`] ?? input[`${role}ImagePath`] ?? null;

/** Controls that have their own place: the prompt, the images, and the aspect ratio, which belongs to the project. */
export const ELSEWHERE = new Set(["prompt", "firstFrame", "lastFrame", "referenceImages", "aspectRatio"]);

/** The order of display. Other controls follow. */
const ORDER = ["resolution", "durationSeconds", "audio", "seed", "negativePrompt"];
const placeOf = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
export const byPlace = ([one]: [string, unknown], [other]: [string, unknown]): number => placeOf(one) - placeOf(other);

const OTHERS = /(PredictionId|ImagePaths?|PreviousShot|^model)$/;

/** Settings or the input of a prediction, except its model, prompt, ratio and images. */
export const valuesIn = (input: Input): [string, Value][] =>
  Object.entries(input)
    .flatMap(([name, value]): [string, Value][] =>
      value == null || typeof value === "object" || ELSEWHERE.has(name) || OTHERS.test(name) ? [] : [[name, value]],
    )
    .toSorted(byPlace);

const NAMES: Record<string, string> = { negativePrompt: "Avoid", durationSeconds: "Length", audio: "Sound" };

/** The label of a control. An unknown control shows its name. */
export const controlName = (name: string): string => NAMES[name] ?? capitalized(name);

export const valueWords = (name: string, value: Value): string =>
  typeof value === "boolean" ? (value ? "on" : "off") : name === "durationSeconds" ? `${value} s` : String(value);

/** `frames`: paths or ids, in place of words. */
export type Fact = { name: string; words: string; frames?: string[] };

export function factsOf({ input, model, requestedModel }: Prediction, labelOf: LabelOf): Fact[] {
  const pictures = (name: string, given: (string | null)[]): Fact => {
    const frames = given.filter((frame) => frame !== null);
    return { name, words: frames.join(), frames };
  };
  const label = requestedModel === null ? labelOf(model) : `${labelOf(model)} instead of ${labelOf(requestedModel)}`;
  const facts = [
    { name: "Model", words: label },
    { name: "Ratio", words: input.aspectRatio ?? "" },
    ...valuesIn(input).map(([name, value]) => ({ name: controlName(name), words: valueWords(name, value) })),
    { name: "Prompt", words: input.prompt },
    { name: "Elements", words: input.elements.map(({ name }) => name).join(", ") },
    pictures("First frame", [frameOf(input, "firstFrame")]),
    pictures("Last frame", [frameOf(input, "lastFrame")]),
    pictures("References", input.referenceImagePaths),
  ];
  return facts.filter(({ words }) => words !== "");
}
