import type { Model, Prediction } from "../../../client/index.ts";
import type { LabelOf } from "../queries/use-models.ts";
import { controlName, frameOf, type Value, valuesIn, valueWords } from "../takes/input-words.ts";
import type { StepOptions } from "../queries/plan-edits.ts";
import { fieldsOf } from "./step-options.ts";
import { accepts, framesOf, modelOf } from "./step-setup.ts";

type Now = {
  models: Model[] | undefined;
  labelOf: LabelOf;
  /** The prompt of a step that has none of its own. */
  projectPrompt: string;
  /** The fields of frames that are not the project's. */
  frames: Partial<StepOptions>;
};

/** The settings that repeat a prediction. `leftOut`: values that its model no longer accepts. `aspectRatio`: null keeps the project's. */
export function repeatTake({ step, input, model }: Prediction, { models, labelOf, projectPrompt, frames }: Now) {
  const { prompt, referenceImagePaths, elements, aspectRatio, continuesPreviousShot } = input;
  const isWithout = (role: "firstFrame" | "lastFrame") => step === "video" && frameOf(input, role) === null;
  const same = models?.find((one) => one.model === model);
  const made: StepOptions = {
    model: same?.isDefault === false ? model : undefined,
    prompt: prompt === projectPrompt ? undefined : prompt,
    ...(isWithout("firstFrame") && fieldsOf("firstFrame", null)),
    ...(isWithout("lastFrame") && fieldsOf("lastFrame", null)),
    ...frames,
    ...(continuesPreviousShot && { ...fieldsOf("firstFrame", undefined), continuesPreviousShot }),
    referenceImagePaths,
    elements,
  };
  const now = modelOf(models, made);
  const controls = now?.controls;
  const isAccepted = ([name, value]: [string, Value]) =>
    controls === undefined || accepts(controls[name], value) || (value === false && controls[name] === undefined);
  const values = valuesIn(input);
  const isRatioAccepted =
    !aspectRatio || controls?.aspectRatio === undefined || isAccepted(["aspectRatio", aspectRatio]);
  const isLastFrameAccepted =
    frameOf(input, "lastFrame") === null || framesOf(controls, { ...made, model: now?.model }).last;
  const leftOut = [
    models !== undefined && same === undefined && `the model ${labelOf(model)}`,
    ...values
      .filter((one) => !isAccepted(one))
      .map(([name, value]) => `${controlName(name).toLowerCase()} ${valueWords(name, value)}`),
    !isRatioAccepted && `aspect ratio ${aspectRatio}`,
    !isLastFrameAccepted && "the last frame",
  ].filter((words) => words !== false);
  const options: StepOptions = {
    ...Object.fromEntries(values.filter(isAccepted)),
    ...made,
    ...(!isLastFrameAccepted && fieldsOf("lastFrame", null)), // the default model refuses it
  };
  return { options, aspectRatio: isRatioAccepted ? aspectRatio : null, leftOut };
}
