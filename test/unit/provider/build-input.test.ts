import { expect, test } from "vitest";
import {
  buildInput,
  type ModelSettings,
  UnsupportedInput,
  type CompleteInput,
} from "../../../shared/replicate/build-input.ts";
import { KLING, NANO_BANANA } from "../../support/models.ts";

const [ref, other, first, last] = ["ref", "other", "first", "last"].map((name) => `https://x.test/${name}`) as [
  string,
  string,
  string,
  string,
]; // four of them

type Change = { step?: CompleteInput["step"]; input?: object; files?: Partial<CompleteInput["files"]> };
const build = ({ step = "first-frame", input = {}, files = {} }: Change, model: ModelSettings) =>
  buildInput(
    {
      step,
      input: { prompt: "A lighthouse", ...input },
      files: { firstFrame: null, lastFrame: null, references: [], ...files },
    },
    model,
  );
const withControls = (model: ModelSettings, controls: object): ModelSettings => ({
  ...model,
  controls: { ...model.controls, ...controls },
});

const PROMPT = { prompt: "A lighthouse" };
const IMAGE = { ...PROMPT, output_format: "png" };
const ONE_REFERENCE = withControls(NANO_BANANA, { referenceImages: { field: "input_image", max: 1 } });
const FOLLOWS_ITS_FRAME = withControls(KLING, {
  aspectRatio: { field: "aspect_ratio", values: ["16:9"], omitWith: ["firstFrame"] },
});

test.each<[string, Change, ModelSettings, object]>([
  ["a prompt → its field, and what is always sent", {}, NANO_BANANA, IMAGE],
  [
    "the model's own name of the prompt → that",
    {},
    withControls(NANO_BANANA, { prompt: { field: "text" } }),
    {
      text: "A lighthouse",
      output_format: "png",
    },
  ],
  [
    "values as Postgres keeps them → each in its field; null and the ids of images are not sent",
    {
      input: {
        ...{ aspectRatio: "9:16", seed: null, referenceImagePaths: ["projects/a.png"] },
        ...{ firstFramePredictionId: "0d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a01", lastFramePredictionId: null },
      },
    },
    NANO_BANANA,
    { ...IMAGE, aspect_ratio: "9:16" },
  ],
  ["one reference → a list of one", { files: { references: [ref] } }, NANO_BANANA, { ...IMAGE, image_input: [ref] }],
  [
    "two → in their order",
    { files: { references: [ref, other] } },
    NANO_BANANA,
    { ...IMAGE, image_input: [ref, other] },
  ],
  [
    "a reference for a field that takes one image → the address itself",
    { files: { references: [ref] } },
    ONE_REFERENCE,
    { ...IMAGE, input_image: ref },
  ],
  [
    "a last frame → the first frame is the first of its references",
    { step: "last-frame", files: { firstFrame: first, references: [ref] } },
    NANO_BANANA,
    { ...IMAGE, image_input: [first, ref] },
  ],
  [
    "a video from two frames → both fields, and the model's words for our values",
    {
      step: "video",
      input: { negativePrompt: "blur", resolution: "1080p", durationSeconds: 10 },
      files: { firstFrame: first, lastFrame: last },
    },
    KLING,
    { ...PROMPT, negative_prompt: "blur", start_image: first, end_image: last, mode: "pro", duration: 10 },
  ],
  [
    "an aspect ratio beside a frame that decides it → is not sent",
    { step: "video", input: { aspectRatio: "4:3" }, files: { firstFrame: first } },
    FOLLOWS_ITS_FRAME,
    { ...PROMPT, start_image: first },
  ],
  [
    "the same without the frame → is sent",
    { step: "video", input: { aspectRatio: "16:9" } },
    FOLLOWS_ITS_FRAME,
    {
      ...PROMPT,
      aspect_ratio: "16:9",
    },
  ],
  [
    "no sound and a ratio, for a model that has neither field → nothing is sent",
    { step: "video", input: { audio: false, aspectRatio: "16:9" }, files: { firstFrame: first } },
    KLING,
    { ...PROMPT, start_image: first },
  ],
])("the input of a run: %s", (_name, change, model, input) => {
  expect(build(change, model)).toEqual(input);
});

test.each<[string, Change, ModelSettings]>([
  ["a value", { input: { seed: 7 } }, NANO_BANANA],
  ["sound", { step: "video", input: { audio: true } }, KLING],
  ["a value that its map lost", { step: "video", input: { resolution: "4k" } }, KLING],
  ["a frame", { step: "video", files: { lastFrame: last } }, withControls(KLING, { lastFrame: undefined })],
  ["a reference", { step: "video", files: { references: [ref] } }, KLING],
  ["a second reference", { files: { references: [ref, other] } }, ONE_REFERENCE],
])("%s that the model's row no longer has → refused, nothing is silently left out", (_name, change, model) => {
  expect(() => build(change, model)).toThrow(UnsupportedInput);
});
