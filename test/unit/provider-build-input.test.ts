import { expect, test } from "vitest";
import { buildInput, type ModelSettings, UnsupportedInput, type Wanted } from "../../shared/replicate/build-input.ts";
import { KLING, NANO_BANANA } from "../support/models.ts";

const wanted = (change: Partial<Wanted> = {}): Wanted => ({
  step: "first-frame",
  prompt: "A lighthouse",
  durationSeconds: null,
  reference: null,
  firstFrame: null,
  lastFrame: null,
  ...change,
});
const [ref, first, last] = ["https://x.test/ref", "https://x.test/first", "https://x.test/last"];

const ONE_REFERENCE: ModelSettings = {
  ...NANO_BANANA,
  reference_field: "input_image",
  max_references: 1,
  reference_is_list: false,
  extras: {},
};
const KLING_STANDARD: ModelSettings = { ...KLING, extras: { mode: "standard" } };

const PROMPT = { prompt: "A lighthouse" };
const IMAGE = { ...PROMPT, aspect_ratio: "16:9", output_format: "png" };
const TEXT_FIELD = { ...NANO_BANANA, prompt_field: "text", extras: { text: "from the extras" } };
test.each<[string, Partial<Wanted>, ModelSettings, object]>([
  ["first frame without a reference → prompt and extras alone", {}, NANO_BANANA, IMAGE],
  ["first frame with a reference → a list of one", { reference: ref }, NANO_BANANA, { ...IMAGE, image_input: [ref] }],
  [
    "first frame with a reference, model with one image → the address itself",
    { reference: ref },
    ONE_REFERENCE,
    { ...PROMPT, input_image: ref },
  ],
  [
    "last frame with a reference → the first frame comes before it",
    { step: "last-frame", reference: ref, firstFrame: first },
    NANO_BANANA,
    { ...IMAGE, image_input: [first, ref] },
  ],
  [
    "video from two frames → both fields, the last frame's extras over the others, the model's first duration",
    { step: "video", firstFrame: first, lastFrame: last },
    KLING_STANDARD,
    { ...PROMPT, start_image: first, end_image: last, mode: "pro", duration: 5 },
  ],
  [
    "video from one frame for 10 seconds → no last frame, none of its extras",
    { step: "video", firstFrame: first, durationSeconds: 10 },
    KLING_STANDARD,
    { ...PROMPT, start_image: first, mode: "standard", duration: 10 },
  ],
  ["a prompt field of another name → the prompt, whatever the extras say", {}, TEXT_FIELD, { text: "A lighthouse" }],
])("%s", (_name, change, model, input) => {
  expect(buildInput(wanted(change), model)).toEqual(input);
});

test.each<[string, Partial<Wanted>, ModelSettings]>([
  ["two references for a model with one", { step: "last-frame", reference: ref, firstFrame: first }, ONE_REFERENCE],
  ["a reference for a model without", { step: "video", firstFrame: first, reference: ref }, KLING_STANDARD],
  [
    "a last frame for a model without",
    { step: "video", firstFrame: first, lastFrame: last },
    { ...KLING_STANDARD, last_frame_field: null },
  ],
  ["a duration for a model with others", { step: "video", firstFrame: first, durationSeconds: 8 }, KLING_STANDARD],
  [
    "a duration for a model without any",
    { step: "video", firstFrame: first, durationSeconds: 5 },
    { ...KLING_STANDARD, duration_field: null, durations: [] },
  ],
  [
    "a reference beside frames for a model with either",
    { step: "video", firstFrame: first, reference: ref },
    { ...KLING_STANDARD, reference_field: "reference_images", max_references: 1, references_exclude_frames: true },
  ],
])("%s → refused, nothing is left out in silence", (_name, change, model) => {
  expect(() => buildInput(wanted(change), model)).toThrow(UnsupportedInput);
});
