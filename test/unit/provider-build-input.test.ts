import { expect, test } from "vitest";
import { checkInput } from "../../local/simulator/check-input.ts";
import { models } from "../../local/simulator/models.ts";
import { buildInput, type ModelSettings, UnsupportedInput, type Wanted } from "../../shared/replicate/build-input.ts";
import { NANO_BANANA } from "./generate-fixture.ts";
import { readModelRows } from "./generate-model-rows.ts";

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
const KLING: ModelSettings = {
  ...NANO_BANANA,
  reference_field: null,
  max_references: 0,
  reference_is_list: false,
  first_frame_field: "start_image",
  last_frame_field: "end_image",
  last_frame_needs_first: true,
  last_frame_extras: { mode: "pro" },
  duration_field: "duration",
  durations: [5, 10],
  extras: { mode: "standard" },
};

test("first frame without a reference → prompt and extras alone", () => {
  expect(buildInput(wanted(), NANO_BANANA)).toEqual({
    prompt: "A lighthouse",
    aspect_ratio: "16:9",
    output_format: "png",
  });
});

test("first frame with a reference, model with a list → a list of one", () => {
  expect(buildInput(wanted({ reference: ref }), NANO_BANANA)).toMatchObject({ image_input: [ref] });
});

test("first frame with a reference, model with one image → the address itself", () => {
  expect(buildInput(wanted({ reference: ref }), ONE_REFERENCE)).toEqual({ prompt: "A lighthouse", input_image: ref });
});

test("last frame with a reference → the first frame comes before it", () => {
  const input = buildInput(wanted({ step: "last-frame", reference: ref, firstFrame: first }), NANO_BANANA);
  expect(input.image_input).toEqual([first, ref]);
});

test("last frame without a first frame → the reference alone", () => {
  expect(buildInput(wanted({ step: "last-frame", reference: ref }), NANO_BANANA).image_input).toEqual([ref]);
});

test("video from two frames → both fields, the last frame's extras over the others, the model's first duration", () => {
  expect(buildInput(wanted({ step: "video", firstFrame: first, lastFrame: last }), KLING)).toEqual({
    prompt: "A lighthouse",
    start_image: first,
    end_image: last,
    mode: "pro",
    duration: 5,
  });
});

test("video from one frame for 10 seconds → no last frame, none of its extras", () => {
  expect(buildInput(wanted({ step: "video", firstFrame: first, durationSeconds: 10 }), KLING)).toEqual({
    prompt: "A lighthouse",
    start_image: first,
    mode: "standard",
    duration: 10,
  });
});

test("a model whose prompt field has another name → the prompt stands there, whatever the extras say", () => {
  const model = { ...NANO_BANANA, prompt_field: "text", extras: { text: "from the extras" } };
  expect(buildInput(wanted(), model)).toEqual({ text: "A lighthouse" });
});

test.each<[string, Partial<Wanted>, ModelSettings]>([
  ["two references for a model with one", { step: "last-frame", reference: ref, firstFrame: first }, ONE_REFERENCE],
  ["a reference for a model without", { step: "video", firstFrame: first, reference: ref }, KLING],
  [
    "a last frame for a model without",
    { step: "video", firstFrame: first, lastFrame: last },
    { ...KLING, last_frame_field: null },
  ],
  ["a first frame for a model without", { step: "video", firstFrame: first }, { ...KLING, first_frame_field: null }],
  ["a last frame alone for a model that needs the first", { step: "video", lastFrame: last }, KLING],
  [
    "a reference beside frames for a model with either",
    { step: "video", firstFrame: first, reference: ref },
    { ...KLING, reference_field: "reference_images", max_references: 1, references_exclude_frames: true },
  ],
])("%s → refused, nothing is left out in silence", (_name, change, model) => {
  expect(() => buildInput(wanted(change), model)).toThrow(UnsupportedInput);
});

const rows = await readModelRows();

test("the migrations ship models for every step", () => {
  expect(new Set(rows.map(({ step }) => step))).toEqual(new Set(["first-frame", "last-frame", "video"]));
  expect(rows.length).toBeGreaterThanOrEqual(20);
});

test.each(rows.map((row) => [`${row.step} by ${row.model}`, row] as const))(
  "%s → all that the row admits is accepted by the model",
  (_name, row) => {
    const provider = models[row.model];
    if (!provider) throw new Error(`the simulator does not have ${row.model}`);
    const { settings } = row;
    const takesLast = settings.last_frame_field !== null;
    const full =
      row.step === "video"
        ? wanted({ step: "video", firstFrame: first, lastFrame: takesLast ? last : null })
        : wanted({
            step: row.step,
            reference: ref,
            firstFrame: row.step === "last-frame" && settings.max_references > 1 ? first : null,
          });
    const input = buildInput(full, settings);
    expect(checkInput(provider, input)).toEqual([]);
    // What was given stands in the field that the model reads it from.
    if (row.step === "video") {
      expect(input[provider.firstFrame ?? ""]).toBe(first);
      expect(takesLast).toBe(provider.lastFrame !== undefined);
      if (provider.lastFrame) expect(input[provider.lastFrame]).toBe(last);
    } else {
      expect(JSON.stringify(input[provider.references ?? ""])).toContain(ref);
    }
    for (const durationSeconds of settings.durations) {
      expect(checkInput(provider, buildInput({ ...full, durationSeconds }, settings))).toEqual([]);
    }
  },
);
