import { describe, expect, test } from "vitest";
import type { Model, Prediction } from "../../../client/index.ts";
import {
  choicesOf,
  controlName,
  forcedValues,
  type Given,
  maxReferences,
  modelOf,
  NO_OPTIONS,
  optionsOf,
  plannedOptions,
  planOf,
  planOfNextShot,
  type StepOptions,
  withoutElements,
  settingsOf,
  settingWords,
  takersOf,
  usedImages,
} from "../../../dashboard/src/steps/step-options.ts";

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
const given = (more: Partial<Given> = {}): Given => ({
  ...{ step: "video", references: [], hasFirstFrame: true, hasLastFrame: false },
  ...more,
});
const options = (more: Partial<StepOptions> = {}): StepOptions => ({ ...NO_OPTIONS, ...more });
const RESOLUTION = { values: ["720p", "1080p"], default: "720p" };

test("nothing chosen → nothing sent: the service has the defaults", () => {
  expect(choicesOf(model({ resolution: RESOLUTION }), options(), given())).toEqual({});
});

test("a control that this page does not know → shown under its own name, and sent", () => {
  const made = model({ cameraMove: { values: ["none", "pan"], default: "none" } });
  expect(settingsOf(made).map(([name]) => controlName(name))).toEqual(["CameraMove"]);
  const chosen = options({ values: { cameraMove: "pan" } });
  expect(settingWords(made, chosen, [])).toEqual(["Model", "pan"]);
  expect(choicesOf(made, chosen, given())).toEqual({ cameraMove: "pan" });
});

test("values that the model does not take, from another model → null, so that the plan's do not count either", () => {
  const made = model({ resolution: RESOLUTION });
  const values = { resolution: "4k", seed: 11, audio: true };
  expect(choicesOf(made, options({ values }), given())).toEqual({ resolution: null, seed: null, audio: null });
});

test("a number beyond what the model takes → sent: the service says what it takes", () => {
  const made = model({ seed: { min: 0, max: 10 } });
  expect(choicesOf(made, options({ values: { seed: 11 } }), given())).toEqual({ seed: 11 });
});

test("a model other than the default → named; one that is not offered any more → the default, not named", () => {
  const models = [model({}), model({}, { model: "maker/other", isDefault: false })];
  const other = options({ model: "maker/other" });
  expect(choicesOf(modelOf(models, other), other, given())).toEqual({ model: "maker/other" });
  const gone = options({ model: "maker/gone" });
  expect([modelOf(models, gone)?.model, choicesOf(modelOf(models, gone), gone, given())]).toEqual(["maker/model", {}]);
});

describe("frames that are not the project's", () => {
  const made = model({ lastFrame: {} });
  const [upload, frame] = ["projects/mine.png", crypto.randomUUID()];

  test("an uploaded image and a frame of another project → sent, each in its field", () => {
    const chosen = options({ firstFrame: upload, lastFrame: frame });
    expect(choicesOf(made, chosen, given({ hasLastFrame: true }))).toEqual({
      firstFrameImagePath: upload,
      lastFramePredictionId: frame,
    });
    const other = options({ firstFrame: frame, lastFrame: upload });
    expect(choicesOf(made, other, given({ hasLastFrame: true }))).toEqual({
      firstFramePredictionId: frame,
      lastFrameImagePath: upload,
    });
  });

  test("a last frame that is not to be used, or that the model does not take → none", () => {
    const chosen = options({ lastFrame: upload });
    const none = { lastFramePredictionId: null };
    expect(choicesOf(made, { ...chosen, usesLastFrame: false }, given({ hasLastFrame: true }))).toEqual(none);
    expect(choicesOf(model({}), chosen, given({ hasLastFrame: true }))).toEqual(none);
  });
});

describe("choices that depend on each other", () => {
  const made = model({
    lastFrame: { forces: { resolution: "1080p" } },
    resolution: { ...RESOLUTION, forcesByValue: { "1080p": { durationSeconds: 6 } } },
    durationSeconds: { values: [6, 10], default: 6 },
  });
  const chosen = options({ values: { resolution: "720p", durationSeconds: 10 } });

  test("a last frame forces a value, and that one another → both shown, neither chosen", () => {
    expect(forcedValues(made, chosen, ["lastFrame"])).toEqual({ resolution: "1080p", durationSeconds: 6 });
    const sent = { resolution: null, durationSeconds: null };
    expect(choicesOf(made, chosen, given({ hasLastFrame: true }))).toEqual(sent);
  });

  test("without the last frame → the choices, and the frame is refused in the start", () => {
    const without = { ...chosen, usesLastFrame: false };
    expect(choicesOf(made, without, given({ hasLastFrame: true }))).toEqual({
      lastFramePredictionId: null,
      resolution: "720p",
      durationSeconds: 10,
    });
  });

  test("a model without a last frame → the video is made without it", () => {
    expect(choicesOf(model({}), options(), given({ hasLastFrame: true }))).toEqual({ lastFramePredictionId: null });
  });
});

test.each<[what: string, given: Partial<Given>, excludes: string[], most: number]>([
  ["a first frame → as many as the model takes", { step: "first-frame", hasFirstFrame: false }, [], 3],
  ["a last frame → the first frame is one of them", { step: "last-frame" }, [], 2],
  ["a last frame without a first frame → all", { step: "last-frame", hasFirstFrame: false }, [], 3],
  ["a video of a model that takes either → none", {}, ["firstFrame"], 0],
])("reference images of %s", (_what, more, excludes, most) => {
  const made = model({ referenceImages: { max: 3, excludes } });
  expect(maxReferences(made, options(), given(more))).toBe(most);
  const references = ["projects/1.png"];
  expect(choicesOf(made, options(), given({ ...more, references }))).toEqual(
    most === 0 ? {} : { referenceImagePaths: references },
  );
});

describe("a video without a first frame", () => {
  const ratio = { aspectRatio: { values: ["16:9"] } };
  const lastFrame = { needs: ["firstFrame"] };
  const excludes = ["firstFrame", "lastFrame"];
  const either = model(
    {
      ...{ ...ratio, lastFrame, referenceImages: { max: 3, excludes, forces: { durationSeconds: 8 } } },
      durationSeconds: { values: [4, 8], default: 4 },
    },
    { model: "maker/either" },
  );
  const without = options({ usesFirstFrame: false, firstFrame: "projects/mine.png", values: { durationSeconds: 4 } });
  const references = ["projects/1.png"];
  const asked = given({ references, hasLastFrame: true });

  test("→ neither frame is sent; references that exclude frames are, and what they force is shown", () => {
    expect([maxReferences(either, options(), asked), maxReferences(either, without, asked)]).toEqual([0, 3]);
    expect(choicesOf(either, without, asked)).toEqual({
      ...{ firstFramePredictionId: null, lastFramePredictionId: null, referenceImagePaths: references },
      durationSeconds: null,
    });
    expect(usedImages(either, without, asked)).toEqual(["referenceImages"]);
    expect(settingWords(either, without, usedImages(either, without, asked))).toEqual(["Model", "8 s"]);
  });

  test("of a model that makes none → from the frame; the models that take what is there are named", () => {
    const needsFrame = model({ ...ratio, firstFrame: { required: true }, referenceImages: { max: 1 } });
    const follows = model({ referenceImages: { max: 1 } });
    for (const made of [needsFrame, follows]) {
      const chosen = choicesOf(made, { ...without, values: {} }, given());
      expect(chosen).toEqual({ firstFrameImagePath: "projects/mine.png" });
    }
    expect(takersOf([needsFrame, follows, either], without, asked)).toEqual([either]);
    expect(takersOf([needsFrame, follows, either], options(), given({ references }))).toEqual([needsFrame, follows]);
  });

  test("frames that count towards the references → leave room for fewer", () => {
    const made = model({ ...ratio, lastFrame, referenceImages: { max: 7, countsFrames: true } });
    const room = [options(), options({ usesLastFrame: false }), without].map((one) => maxReferences(made, one, asked));
    expect(room).toEqual([5, 6, 7]);
  });

  test("its inputs, used again → without a first frame again", () => {
    const input = { prompt: "A pier", firstFramePredictionId: null, firstFrameImagePath: null, aspectRatio: "16:9" };
    const frames = { lastFramePredictionId: null, lastFrameImagePath: null, referenceImagePaths: references };
    const made = { step: "video", model: "maker/either", input: { ...input, ...frames } } as unknown as Prediction;
    const { options: again, leftOut } = optionsOf(made, [either], String, "", {});
    expect(again).toMatchObject({ usesFirstFrame: false, references });
    expect(leftOut).toEqual([]);
  });
});

test("the elements of a take that is repeated → sent as they were; without them its texts and images are gone too", () => {
  const used = (name: string, text: string, imagePaths: string[]) => ({
    elementId: name,
    updatedAt: "",
    name,
    text,
    imagePaths,
  });
  const elements = [used("Anna", "Red coat", ["projects/a.png"]), used("Pier", "", ["projects/p.png"])];
  const repeated = options({
    prompt: "Anna waits\n\nAnna: Red coat",
    references: ["projects/own.png", "projects/a.png", "projects/p.png"],
    elements,
  });
  expect(choicesOf(model({}), repeated, given())).toMatchObject({ elements, prompt: repeated.prompt });
  const without = { elements: null, prompt: "Anna waits", references: ["projects/own.png"] };
  expect(withoutElements(repeated)).toEqual(without);
  expect(choicesOf(model({}), options(without), given())).toEqual({ prompt: "Anna waits", referenceImagePaths: [] });
});

test("inputs of which the present model takes less → the rest is set, and what is left out is named", () => {
  const input = {
    ...{ prompt: "A pier", negativePrompt: "Fog", firstFramePredictionId: null, firstFrameImagePath: "projects/a.png" },
    ...{ lastFramePredictionId: null, lastFrameImagePath: "projects/z.png", referenceImagePath: null },
    ...{ referenceImagePaths: ["projects/1.png", "projects/2.png", "projects/3.png"], aspectRatio: "21:9" },
    ...{ resolution: "4k", durationSeconds: 6, audio: false, seed: 7, elements: [] },
  };
  const made = { step: "video", model: "maker/gone", input } as unknown as Prediction; // the rest is not looked at
  const now = model({
    aspectRatio: { values: ["16:9"] },
    resolution: RESOLUTION,
    durationSeconds: { values: [5, 6], default: 5 },
    referenceImages: { max: 2 },
  });
  expect(
    optionsOf(made, [now], String, "A pier", { firstFrame: "projects/a.png", lastFrame: "projects/z.png" }),
  ).toEqual({
    options: options({
      references: ["projects/1.png", "projects/2.png"],
      elements: [],
      firstFrame: "projects/a.png",
      lastFrame: "projects/z.png",
      values: { durationSeconds: 6, audio: false },
    }),
    aspectRatio: null,
    leftOut: [
      ...["the model maker/gone", "resolution 4k", "seed 7", "avoid Fog", "aspect ratio 21:9"],
      ...["1 of its reference images", "the last frame"],
    ],
  });
  const { leftOut } = optionsOf({ ...made, model: "maker/model" }, undefined, String, "A pier", {});
  expect(leftOut).toEqual([]);
});

test.each<[string, Partial<StepOptions>, object]>([
  ["nothing", {}, {}],
  [
    "a model, a prompt, references and values",
    { model: "maker/model", prompt: "At night", references: ["projects/a.png"], values: { durationSeconds: 5 } },
    { model: "maker/model", prompt: "At night", referenceImagePaths: ["projects/a.png"], durationSeconds: 5 },
  ],
  ["an image to begin with", { firstFrame: "projects/a.png" }, { firstFrameImagePath: "projects/a.png" }],
  [
    "no frames",
    { usesFirstFrame: false, usesLastFrame: false },
    { firstFramePredictionId: null, lastFramePredictionId: null },
  ],
  ["the end of the shot before", { continues: true }, { continuesPreviousShot: true }],
])("settings with %s → the plan has them, and gives them back", (_what, changed, plan) => {
  expect(planOf(options(changed))).toEqual(plan);
  expect(plannedOptions(plan)).toEqual(options(changed));
});

test("a seed and the elements of a repeated take → are not in the plan", () => {
  expect(planOf(options({ values: { seed: 7 }, elements: [] }))).toEqual({});
  expect(plannedOptions({}, { seed: 7, elements: [] })).toEqual(options({ values: { seed: 7 }, elements: [] }));
});

test("the next shot → has the settings of the one before without its prompts and frames, and continues it or not", () => {
  const plan = {
    video: { firstFrameImagePath: "projects/a.png", model: "maker/model", prompt: "At night", durationSeconds: 5 },
  };
  expect(planOfNextShot(plan, null)).toEqual({ video: { model: "maker/model", durationSeconds: 5 } });
  expect(planOfNextShot(plan, "end")).toEqual({
    video: { model: "maker/model", durationSeconds: 5, continuesPreviousShot: true },
  });
  const frame = { firstFramePredictionId: crypto.randomUUID() };
  expect(planOfNextShot(plan, frame).video).toEqual({ model: "maker/model", durationSeconds: 5, ...frame });
});
