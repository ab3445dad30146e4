import { expect, test } from "vitest";
import { runCheck } from "../../tools/models-check/run-check.ts";
import type { ModelRow } from "../../tools/models-check/row-inputs.ts";
import { imageRow, videoRow } from "./models-check-fixture.ts";

const refusalsOf = async (row: ModelRow) => {
  const { findings } = await runCheck({ rows: [row], today: "2026-12-24" });
  return findings.map(({ asked, refused }) => `with ${asked}: ${refused}`);
};

test("rows that fit → nothing, in each step", async () => {
  for (const row of [imageRow(), imageRow({ step: "last-frame" }), videoRow()])
    expect(await refusalsOf(row)).toEqual([]);
});

const text = { field: "prompt" };
test.each<[string, ModelRow, string]>([
  [
    "a field that the model has not",
    imageRow({}, { prompt: { field: "text" } }),
    "with the defaults: input.text: Additional property text is not allowed",
  ],
  [
    "the prompt in no field",
    imageRow({}, { prompt: { field: "text" } }),
    "with the defaults: input: prompt is required",
  ],
  [
    "one image into a list",
    imageRow({}, { referenceImages: { field: "image_input", max: 1 } }),
    "with 1 reference images: input.image_input: Invalid type. Expected: array, given: string (image_input)",
  ],
  [
    "a value that the model has not → the first input with it",
    videoRow({}, { durationSeconds: { field: "duration", values: [5, 7], default: 5 } }),
    "with durationSeconds 7: input.duration: duration must be one of the following: 5, 10",
  ],
  [
    "a default that the model has not",
    videoRow(
      {},
      {
        lastFrame: { field: "end_image" },
        resolution: { field: "mode", values: { "720p": "std" }, default: "720p" },
      },
    ),
    `with the defaults: input.mode: mode must be one of the following: "standard", "pro"`,
  ],
  [
    "a range beyond the model's",
    videoRow({ model: "kwaivgi/kling-v3-video" }, { durationSeconds: { field: "duration", min: 3, max: 16 } }),
    "with durationSeconds 16: input.duration: Must be less than or equal to 15",
  ],
  [
    "what only a last frame forces",
    videoRow(
      {},
      { lastFrame: { field: "end_image", forces: { resolution: "4k" } }, resolution: { ...text, field: "mode" } },
    ),
    `with 0 reference images and a last frame: input.mode: mode must be one of the following: "standard", "pro"`,
  ],
  [
    "what only one value forces",
    videoRow(
      {},
      {
        resolution: { field: "mode", values: ["standard", "pro"], forcesByValue: { pro: { durationSeconds: 8 } } },
      },
    ),
    "with resolution pro: input.duration: duration must be one of the following: 5, 10",
  ],
  [
    "a fixed value that the model has not",
    imageRow({ fixed: { output_format: "webp" } }),
    `with the defaults: input.output_format: output_format must be one of the following: "jpg", "png"`,
  ],
])("%s → a finding", async (_name, row, refusal) => {
  expect(await refusalsOf(row)).toContain(refusal);
});

test("a model without a record, where there is no token → a finding that says what to do", async () => {
  expect(await refusalsOf(imageRow({ model: "google/none" }))).toEqual([
    "with any input: no schema of it is recorded. Set KEYFRAME_REPLICATE_API_TOKEN to ask Replicate.",
  ]);
});
