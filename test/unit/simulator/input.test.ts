import { expect, test } from "vitest";
import { checkInput } from "../../../local/simulator/check-input.ts";
import { readInputSchema } from "../../../local/simulator/model-schemas.ts";
import { models } from "../../../local/simulator/models.ts";

const image = "https://example.com/image.png";

function complaints(name: string, input: Record<string, unknown>): string[] {
  const model = models[name];
  if (!model) throw new Error(`no model ${name}`);
  return checkInput(model, input).map(({ field, description }) => `${field}: ${description}`);
}

test.each([
  ["kwaivgi/kling-v2.1", { start_image: image, end_image: image }, "end_image can only be used with mode 'pro'"],
  ["kwaivgi/kling-v2.1", { start_image: image, duration: 7 }, "duration must be one of the following: 5, 10"],
  ["kwaivgi/kling-v3-video", { end_image: image }, "end_image can only be used with start_image"],
  ["kwaivgi/kling-v3-video", { duration: 16 }, "Must be less than or equal to 15"],
  ["minimax/hailuo-02", { resolution: "1080p", duration: 10 }, "duration must be 6 with resolution 1080p"],
  ["minimax/hailuo-2.3", { last_frame_image: image }, "Additional property last_frame_image is not allowed"],
  ["bytedance/seedance-2.0", { last_frame_image: image }, "last_frame_image can only be used with image"],
  [
    "bytedance/seedance-2.0-fast",
    { image, reference_images: [image] },
    "image cannot be used together with reference_images",
  ],
  ["google/nano-banana", { image_input: image }, "Invalid type. Expected: array, given: string (image_input)"],
  ["google/nano-banana", { image_input: ["ftp://x/y.png"] }, "Does not match format 'uri'"],
  ["google/nano-banana", { image_input: [7] }, "Invalid type. Expected: string, given: integer (image_input)"],
  ["black-forest-labs/flux-2-pro", { input_images: Array(9).fill(image) }, "Array must have at most 8 items"],
  ["bytedance/seedream-4", { max_images: 0 }, "Must be greater than or equal to 1"],
  ["google/nano-banana", { prompt: 7 }, "Invalid type. Expected: string, given: integer"],
  ["google/nano-banana", { prompt: undefined }, "prompt is required"],
])("%s with %j → %s", (name, input, complaint) => {
  expect(complaints(name, { prompt: "x", ...input })).toEqual([expect.stringContaining(complaint)]);
});

const ref = { $ref: "#/components/schemas/words" };
const oneOf = { type: "string", enum: ["x", "y"] };
test.each<[string, object, object]>([
  ["allOf with a reference", { allOf: [ref], default: "x" }, oneOf],
  ["a bare reference", ref, oneOf],
  ["anyOf with null", { anyOf: [ref, { type: "null" }] }, oneOf],
  ["a list of types with null", { type: ["integer", "null"], minimum: 1 }, { type: "integer", minimum: 1 }],
  ["a list of references", { type: "array", items: { allOf: [ref] } }, { type: "array", items: oneOf }],
  ["an empty anyOf beside a type", { type: "array", items: { ...oneOf, anyOf: [] } }, { type: "array", items: oneOf }],
  ["alternatives of several types", { anyOf: [{ type: "string" }, { type: "integer" }] }, {}],
  ["a reference to itself", { $ref: "#/components/schemas/loop" }, {}],
])("a field of a published schema written as %s → read with the values that it takes", (_name, property, field) => {
  const properties = { b: { type: "string", "x-order": 1 }, a: { "x-order": 0, ...property } };
  const schemas = {
    Input: { properties },
    words: { ...oneOf, title: "words" },
    loop: { $ref: "#/components/schemas/loop" },
  };
  const { fields } = readInputSchema({ components: { schemas } });
  expect({ type: undefined, ...fields.a }).toMatchObject({ type: undefined, ...field });
  expect(Object.keys(fields)).toEqual(["a", "b"]);
});
