import { expect, test } from "vitest";
import type { ModelRow } from "../../tools/models-check/read-rows.ts";
import type { FieldSchema, InputSchema } from "../../local/simulator/model-schemas.ts";
import { imageRow, inputOf, linesOf, videoRow } from "./models-check-fixture.ts";

test("a finding → one line with step, model, column, what both say and what to do", () => {
  expect(linesOf(videoRow({ durations: [5, 7] }))).toEqual([
    "video  kwaivgi/kling-v2.1  durations: the row says 7; the schema says duration takes one of 5, 10. Take 7 out of durations.",
  ]);
});

test.each<[string, ModelRow, string]>([
  [
    "a prompt field that is not there",
    imageRow({ prompt_field: "text" }),
    `prompt_field: the row says "text"; the schema says there is no such field. Name one of the model's fields. Fields that take text: prompt.`,
  ],
  [
    "a prompt into an enum",
    videoRow({ prompt_field: "mode" }),
    `mode takes one of "standard", "pro". It has to take text.`,
  ],
  [
    "one reference into a list",
    imageRow({ reference_is_list: false, max_references: 1 }),
    "image_input takes a list of files. It has to take one file. Set reference_is_list to true.",
  ],
  [
    "a list of references into one file",
    imageRow({ model: "black-forest-labs/flux-kontext-pro", reference_field: "input_image" }),
    "input_image takes one file. It has to take a list of files. Set reference_is_list to false and max_references to 1.",
  ],
  [
    "more references than the description names",
    imageRow({ model: "black-forest-labs/flux-2-pro", reference_field: "input_images" }),
    `max_references: the row says 10; the schema says input_images: "Maximum 8 images.". Set max_references to 8.`,
  ],
  [
    "a first frame into a text",
    videoRow({ first_frame_field: "negative_prompt" }),
    'first_frame_field: the row says "negative_prompt"; the schema says negative_prompt takes text. It has to take one file.',
  ],
  [
    "a last frame field of another model",
    videoRow({ last_frame_field: "tail_image" }),
    `last_frame_field: the row says "tail_image"; the schema says there is no such field. Name one of the model's fields. Fields that take one file: end_image, start_image.`,
  ],
  [
    "a duration into a text",
    videoRow({ duration_field: "negative_prompt" }),
    "negative_prompt takes text. It has to take a number of seconds.",
  ],
  [
    "a duration out of range",
    videoRow({ model: "kwaivgi/kling-v3-video", durations: [2, 5, 16] }),
    "durations: the row says 2, 16; the schema says duration takes an integer from 3 to 15. Take 2, 16 out of durations.",
  ],
  [
    "an extra that is not there",
    videoRow({ extras: { fps: 24 } }),
    `extras: the row says {"fps":24}; the schema says there is no field fps. Take it out. The model's fields: mode, prompt, duration,`,
  ],
  [
    "an extra of a wrong value",
    imageRow({ extras: { output_format: "webp" } }),
    `extras: the row says {"output_format":"webp"}; the schema says output_format takes one of "jpg", "png". Change the value or take it out.`,
  ],
  [
    "an extra of the last frame of a wrong value",
    videoRow({ last_frame_extras: { mode: "turbo" } }),
    `last_frame_extras: the row says {"mode":"turbo"}; the schema says mode takes one of "standard", "pro".`,
  ],
  [
    "both frames into one field",
    videoRow({ last_frame_field: "start_image" }),
    `first_frame_field and last_frame_field: the row says both fill "start_image"; the schema says start_image takes one value. Leave one of them out.`,
  ],
  [
    "an extra in the field of the prompt",
    imageRow({ extras: { prompt: "x" } }),
    `prompt_field and extras: the row says both fill "prompt"`,
  ],
  [
    "an extra of the last frame in the field of the duration",
    videoRow({ last_frame_extras: { duration: 10 } }),
    `duration_field and last_frame_extras: the row says both fill "duration"`,
  ],
  [
    "a required field that nothing fills",
    imageRow({ model: "kwaivgi/kling-v2.1", reference_field: null, extras: {} }),
    `extras: the row says nothing that always fills start_image; the schema says start_image is required. Map it, or give it a fixed value in extras: {"start_image": …}.`,
  ],
])("%s → a finding", (_name, row, line) => {
  expect(linesOf(row)).toContainEqual(expect.stringContaining(line));
});

const of = (schema: Partial<InputSchema>): InputSchema => ({ fields: {}, required: [], ...schema });
const text = { type: "string" } as const;
const file = { type: "string", format: "uri" } as const;

test("maxItems → holds before what the description says", () => {
  const images = { type: "array", items: file, maxItems: 4, description: "Up to 10 images." } as const;
  expect(linesOf(imageRow({ extras: {} }), of({ fields: { prompt: text, image_input: images } }))).toEqual([
    expect.stringContaining(
      "max_references: the row says 10; the schema says image_input: a list of files, at most 4. Set max_references to 4.",
    ),
  ]);
});

test("a duration as an enum of texts → the field takes no number; a value it lacks is a finding too", () => {
  const duration: FieldSchema = { type: "string", enum: ["5", "8"] };
  const fields = { prompt: text, start_image: file, end_image: file, mode: text, duration };
  expect(linesOf(videoRow(), of({ fields }))).toEqual([
    expect.stringContaining(
      `duration_field: the row says "duration"; the schema says duration takes one of "5", "8". It has to take a number of seconds.`,
    ),
    expect.stringContaining("durations: the row says 10;"),
  ]);
});

test("an enum of numbers without a type, as a reference of another schema may have it → takes durations", () => {
  const fields = { prompt: text, start_image: file, end_image: file, mode: text, duration: { enum: [5, 10] } };
  expect(linesOf(videoRow(), of({ fields }))).toEqual([]);
});

test("a required reference or last frame → cannot serve the step, because both are optional here", () => {
  const fields = { ...inputOf("google/nano-banana").fields };
  expect(linesOf(imageRow(), of({ fields, required: ["prompt", "image_input"] }))).toEqual([
    expect.stringContaining("The model makes nothing without a reference image"),
  ]);
  const video = inputOf("kwaivgi/kling-v2.1");
  expect(linesOf(videoRow(), of({ fields: video.fields, required: [...video.required, "end_image"] }))).toEqual([
    expect.stringContaining("The model makes nothing without a last frame"),
  ]);
});

test("required fields that are always sent: prompt, first frame, duration, extras → no finding", () => {
  const required = ["prompt", "start_image", "duration", "mode"];
  expect(
    linesOf(videoRow({ extras: { mode: "standard" } }), of({ fields: inputOf("kwaivgi/kling-v2.1").fields, required })),
  ).toEqual([]);
});
