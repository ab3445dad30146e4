import { describe, expect, test } from "vitest";
import type { Model, Prediction, Shot, Step } from "../../../client/index.ts";
import type { StepOptions } from "../../../dashboard/src/queries/plan-edits.ts";
import { repeatTake } from "../../../dashboard/src/step-settings/repeat-take.ts";
import { fieldsOf, planOfNextShot, withoutElements } from "../../../dashboard/src/step-settings/step-options.ts";
import { modelOf, settingsOf, setupOf, setupWords } from "../../../dashboard/src/step-settings/step-setup.ts";
import { controlName } from "../../../dashboard/src/takes/input-words.ts";
import { SAMPLE_PREDICTION } from "../../../shared/contract/samples.ts";

const model = (controls: Model["controls"], more: Partial<Model> = {}): Model => ({
  model: "maker/model",
  label: "Model",
  vendor: "Maker",
  isDefault: true,
  available: true,
  acceptsFaces: "unknown",
  shutdownAt: null,
  successor: null,
  promptMaxLength: 4000,
  prices: [],
  billedWhen: { failed: "unknown", rejected: "unknown", canceled: "yes" },
  controls: { prompt: {}, firstFrame: {}, ...controls },
  ...more,
});
const TAKE: Prediction = { ...SAMPLE_PREDICTION, step: "first-frame", status: "succeeded" };

/** How a step is made of a shot that has takes of these frames. */
function setup(made: Model, options: StepOptions, frames: Step[] = ["first-frame"], step: Step = "video") {
  const takeOf = (of: Step) => (frames.includes(of) ? TAKE : null);
  const takes: Shot["takes"] = {
    "first-frame": takeOf("first-frame"),
    "last-frame": takeOf("last-frame"),
    video: null,
  };
  return setupOf([made], step, options, { takes, referenceImagePath: null });
}
const BOTH: Step[] = ["first-frame", "last-frame"];
const NO_FRAME: StepOptions = { firstFramePredictionId: null };
const RESOLUTION = { values: ["720p", "1080p"], default: "720p" };

test("a control that the dashboard does not know → shown under its own name", () => {
  const made = model({ cameraMove: { values: ["none", "pan"], default: "none" } });
  expect(settingsOf(made).map(([name]) => controlName(name))).toEqual(["CameraMove"]);
  expect(setupWords(setup(made, { cameraMove: "pan" } as StepOptions))).toEqual(["Model", "pan"]);
});

test("values of another model that this one does not take → its defaults show, as the service ignores such values", () => {
  const { values } = setup(model({ resolution: RESOLUTION }), { resolution: "4k", seed: 11, audio: true });
  expect(values).toEqual({ resolution: "720p" });
});

test("a model that is no longer offered → the default model's controls", () => {
  const models = [model({}), model({}, { model: "maker/other", isDefault: false })];
  expect(modelOf(models, { model: "maker/other" })?.model).toBe("maker/other");
  expect(modelOf(models, { model: "maker/gone" })?.model).toBe("maker/model");
});

describe("choices that depend on each other", () => {
  const made = model({
    lastFrame: { forces: { resolution: "1080p" } },
    resolution: { ...RESOLUTION, forcesByValue: { "1080p": { durationSeconds: 6 } } },
    durationSeconds: { values: [6, 10], default: 6 },
  });

  test("a last frame that forces a value, which forces another → both are shown as forced", () => {
    const forced = { resolution: "1080p", durationSeconds: 6 };
    expect(setup(made, {}, BOTH)).toMatchObject({ values: forced, forced });
  });

  test("another value than the forced one was chosen → it is shown, since the service refuses such a start", () => {
    const chosen = { resolution: "720p", durationSeconds: 10 };
    expect(setup(made, chosen, BOTH).values).toEqual(chosen);
  });
});

test.each<[what: string, step: Step, frames: Step[], excludes: string[], most: number]>([
  ["a first frame → as many as the model takes", "first-frame", [], [], 3],
  ["a last frame → the first frame is one of them", "last-frame", ["first-frame"], [], 2],
  ["a last frame without a first frame → all", "last-frame", [], [], 3],
  ["a video of a model that takes either → none", "video", ["first-frame"], ["firstFrame"], 0],
])("reference images of %s", (_what, step, frames, excludes, most) => {
  const made = model({ referenceImages: { max: 3, excludes } });
  expect(setup(made, {}, frames, step).mostReferences).toBe(most);
});

describe("a video without a first frame", () => {
  const ratio = { aspectRatio: { values: ["16:9"] } };
  const lastFrame = { needs: ["firstFrame"] };
  const excludes = ["firstFrame", "lastFrame"];
  const either = model({
    ...{ ...ratio, lastFrame, referenceImages: { max: 3, excludes, forces: { durationSeconds: 8 } } },
    durationSeconds: { values: [4, 8], default: 4 },
  });
  const asked = (made: Model, options: StepOptions) =>
    setup(made, { referenceImagePaths: ["projects/1.png"], ...options }, BOTH);

  test("a video without a first frame → no last frame that needs one; exclusive references, and their forced values are shown", () => {
    expect(asked(either, {}).mostReferences).toBe(0);
    expect(asked(either, NO_FRAME)).toMatchObject({ mostReferences: 3, usesLastFrame: false });
    expect(setupWords(asked(either, NO_FRAME))).toEqual(["Model", "8 s"]);
  });

  test("a video without a first frame, by a model that needs one → made from the frame", () => {
    const needsFrame = model({ ...ratio, firstFrame: { required: true } });
    for (const made of [needsFrame, model({})]) expect(setup(made, NO_FRAME).usesFirstFrame).toBe(true);
  });

  test("frames that count towards the limit of references → fewer references fit", () => {
    const made = model({ ...ratio, lastFrame, referenceImages: { max: 7, countsFrames: true } });
    const noEnd = { lastFramePredictionId: null };
    expect([{}, noEnd, NO_FRAME].map((one) => asked(made, one).mostReferences)).toEqual([5, 6, 7]);
  });
});

test("a repeated take, whose elements are removed → their texts and images are removed too", () => {
  const used = (name: string, text: string, imagePaths: string[]) => ({
    elementId: name,
    updatedAt: "",
    name,
    text,
    imagePaths,
  });
  const elements = [used("Anna", "Red coat", ["projects/a.png"]), used("Pier", "", ["projects/p.png"])];
  const repeated = {
    prompt: "Anna waits\n\nAnna: Red coat",
    referenceImagePaths: ["projects/own.png", "projects/a.png", "projects/p.png"],
    elements,
  };
  const without = { elements: undefined, prompt: "Anna waits", referenceImagePaths: ["projects/own.png"] };
  expect(withoutElements(repeated)).toEqual(without);
});

test("inputs with more than the current model takes → the rest is set, and what is left out is named", () => {
  const input = {
    ...{ prompt: "A pier", negativePrompt: "Fog", firstFramePredictionId: null, firstFrameImagePath: "projects/a.png" },
    ...{ lastFramePredictionId: null, lastFrameImagePath: "projects/z.png", referenceImagePath: null },
    ...{ referenceImagePaths: ["projects/1.png"], aspectRatio: "21:9" },
    ...{ resolution: "4k", durationSeconds: 6, audio: false, seed: 7, elements: [] },
  };
  const made = { step: "video", model: "maker/gone", input } as unknown as Prediction; // the rest is not looked at
  const now = model({
    aspectRatio: { values: ["16:9"] },
    resolution: RESOLUTION,
    durationSeconds: { values: [5, 6], default: 5 },
  });
  const frames = { firstFrameImagePath: "projects/a.png", lastFrameImagePath: "projects/z.png" };
  const asNow = { models: [now], labelOf: String, projectPrompt: "A pier", frames };
  expect(repeatTake(made, asNow)).toEqual({
    options: {
      ...{ firstFrameImagePath: "projects/a.png", lastFramePredictionId: null },
      ...{ referenceImagePaths: ["projects/1.png"], elements: [], durationSeconds: 6, audio: false },
    },
    aspectRatio: null,
    leftOut: ["the model maker/gone", "resolution 4k", "seed 7", "avoid Fog", "aspect ratio 21:9", "the last frame"],
  });
  const notRead = { ...asNow, models: undefined, frames: {} };
  expect(repeatTake({ ...made, model: "maker/model" }, notRead).leftOut).toEqual([]);
});

test("inputs of a take without frames → no frames again", () => {
  const input = {
    prompt: "A pier",
    firstFramePredictionId: null,
    lastFramePredictionId: null,
    referenceImagePaths: [],
  };
  const made = { step: "video", model: "maker/model", input } as unknown as Prediction; // the rest is not looked at
  const now = { models: [model({ aspectRatio: {} })], labelOf: String, projectPrompt: "A pier", frames: {} };
  const { options, leftOut } = repeatTake(made, now);
  expect([options, leftOut]).toMatchObject([{ firstFramePredictionId: null, lastFramePredictionId: null }, []]);
});

test("a frame as input → in the field of its kind, and in no other", () => {
  expect(fieldsOf("firstFrame", "projects/a.png")).toEqual({ firstFrameImagePath: "projects/a.png" });
  expect(fieldsOf("lastFrame", "an id")).toEqual({ lastFramePredictionId: "an id" });
  expect(fieldsOf("firstFrame", null)).toEqual({ firstFramePredictionId: null });
  expect(fieldsOf("firstFrame", undefined)).toEqual({});
});

test("the next shot → has the previous shot's settings without prompts and frames, and continues it or not", () => {
  const plan = {
    video: { firstFrameImagePath: "projects/a.png", model: "maker/model", prompt: "At night", durationSeconds: 5 },
  };
  expect(planOfNextShot(plan, null)).toEqual({ video: { model: "maker/model", durationSeconds: 5 } });
  const end = { continuesPreviousShot: true };
  expect(planOfNextShot(plan, end)).toEqual({ video: { model: "maker/model", durationSeconds: 5, ...end } });
  const frame = { firstFramePredictionId: crypto.randomUUID() };
  expect(planOfNextShot(plan, frame).video).toEqual({ model: "maker/model", durationSeconds: 5, ...frame });
  expect(planOfNextShot({ video: NO_FRAME }, null)).toEqual({ video: NO_FRAME });
});
