import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkInput, maxDataUrlBytes } from "../../local/simulator/check-input.ts";
import { models } from "../../local/simulator/models.ts";
import { type RunningSimulator, startSimulator } from "../../local/simulator/start-simulator.ts";
import { create, request, run, wire } from "./replicate-test-kit.ts";

const image = "https://example.com/image.png";

/** What the check complains of, as `field: description` lines. */
function complaints(name: string, input: Record<string, unknown>): string[] {
  const model = models[name];
  if (!model) throw new Error(`no model ${name}`);
  return checkInput(model, input).map(({ field, description }) => `${field}: ${description}`);
}

test("the table has the nine video and six image models", () => {
  const names = Object.keys(models);
  expect(names.filter((name) => models[name]?.output === "video")).toHaveLength(9);
  expect(names.filter((name) => models[name]?.output !== "video")).toHaveLength(6);
});

describe.each(Object.entries(models))("%s", (name, model) => {
  const required =
    model.firstFrame && model.input.required.includes(model.firstFrame) ? { [model.firstFrame]: image } : {};
  test("its required fields alone → accepted; without prompt → refused", () => {
    expect(complaints(name, { prompt: "x", ...required })).toEqual([]);
    expect(complaints(name, required)).toEqual(["input: prompt is required"]);
  });
  test("an unknown field, a wrong type → refused by name", () => {
    const found = complaints(name, { prompt: 7, ...required, first_frame: image });
    expect(found).toEqual([
      expect.stringMatching(/^input\.prompt: Invalid type\. Expected: string, given: integer/),
      "input.first_frame: Additional property first_frame is not allowed",
    ]);
  });
});

test.each([
  ["kwaivgi/kling-v2.1", { start_image: image, end_image: image }, "end_image can only be used with mode 'pro'"],
  ["kwaivgi/kling-v2.1", { start_image: image, duration: 7 }, "duration must be one of the following: 5, 10"],
  ["kwaivgi/kling-v2.5-turbo-pro", { end_image: image }, "end_image can only be used with start_image"],
  ["kwaivgi/kling-v3-video", { end_image: image }, "end_image can only be used with start_image"],
  ["kwaivgi/kling-v3-video", { duration: 16 }, "Must be less than or equal to 15"],
  ["minimax/hailuo-02", { resolution: "1080p", duration: 10 }, "duration must be 6 with resolution 1080p"],
  ["minimax/hailuo-2.3", { last_frame_image: image }, "Additional property last_frame_image is not allowed"],
  ["google/veo-3.1", { duration: 5 }, "duration must be one of the following: 4, 6, 8"],
  ["google/veo-3.1", { last_frame_image: image }, "Additional property last_frame_image is not allowed"],
  ["bytedance/seedance-2.0", { last_frame_image: image }, "last_frame_image can only be used with image"],
  [
    "bytedance/seedance-2.0-fast",
    { image, reference_images: [image] },
    "image cannot be used together with reference_images",
  ],
  ["google/nano-banana", { image_input: image }, "Invalid type. Expected: array, given: string (image_input)"],
  ["google/nano-banana", { image_input: ["ftp://x/y.png"] }, "Does not match format 'uri'"],
  ["google/nano-banana", { output_format: "webp" }, 'output_format must be one of the following: "jpg", "png"'],
  ["black-forest-labs/flux-2-pro", { input_images: Array(9).fill(image) }, "Array must have at most 8 items"],
  ["google/nano-banana", { output_format: 7 }, "Invalid type. Expected: string, given: integer (output_format)"],
  ["google/nano-banana", { image_input: [7] }, "Invalid type. Expected: string, given: integer (image_input)"],
  ["google/nano-banana", { prompt: null }, "input: prompt is required"],
  ["bytedance/seedream-4", { max_images: 0 }, "Must be greater than or equal to 1"],
])("%s with %j → %s", (name, input, complaint) => {
  expect(complaints(name, { prompt: "x", ...input })).toEqual([expect.stringContaining(complaint)]);
});

test.each([
  ["kwaivgi/kling-v2.1", { start_image: image, end_image: image, mode: "pro", duration: 10 }],
  ["kwaivgi/kling-v2.5-turbo-pro", { start_image: image, end_image: image }],
  ["minimax/hailuo-02", { first_frame_image: image, last_frame_image: image, duration: 10, resolution: "768p" }],
  ["google/veo-3.1", { image, last_frame: image, reference_images: [image] }],
  ["bytedance/seedance-2.0", { image, last_frame_image: image, reference_images: [], duration: -1 }],
  ["google/nano-banana", { image_input: null, output_format: null }],
  ["google/nano-banana-pro", { image_input: Array(14).fill(image), resolution: "4K", output_format: "png" }],
])("%s with %j → accepted", (name, input) => {
  expect(complaints(name, { prompt: "x", ...input })).toEqual([]);
});

test("a data URL of 256 kB → accepted, one of more → refused", () => {
  const dataUrl = (bytes: number) => `data:image/png;base64,${"A".repeat(Math.ceil((bytes * 4) / 3))}`;
  const check = (bytes: number) => complaints("google/nano-banana", { prompt: "x", image_input: [dataUrl(bytes)] });
  expect(check(maxDataUrlBytes)).toEqual([]);
  expect(check(maxDataUrlBytes + 3)).toEqual([expect.stringContaining("is larger than 262144 bytes")]);
});

describe("over HTTP", () => {
  let simulator: RunningSimulator;
  beforeAll(async () => {
    simulator = await startSimulator();
  });
  afterAll(() => simulator.stop());

  test("a wrong input → 422 with the provider's title, detail and invalid_fields, and nothing is made", async () => {
    const response = await create(simulator, "x", { input: { output_format: "webp" } });
    expect(response.status).toBe(422);
    const description = 'output_format must be one of the following: "jpg", "png"';
    expect(await response.json()).toEqual({
      title: "Input validation failed",
      detail: `- input.output_format: ${description}\n`,
      invalid_fields: [{ type: "enum", field: "input.output_format", description }],
      status: 422,
    });
    expect(simulator.control.state().creates).toBe(0);
  });

  test("broken JSON → 400; no input, a webhook that is no URL, an unknown event → 422", async () => {
    const path = `${simulator.apiUrl}/predictions`;
    const headers = { authorization: `Bearer ${simulator.token}` };
    expect((await fetch(path, { method: "POST", headers, body: "{" })).status).toBe(400);
    expect((await request(simulator, "POST", "/predictions", { model: "google/nano-banana" })).status).toBe(422);
    expect((await create(simulator, "x", { webhook: "nowhere" })).status).toBe(422);
    expect((await create(simulator, "x", { webhook_events_filter: ["end"] })).status).toBe(422);
    expect((await create(simulator, "x", { headers: { "cancel-after": "soon" } })).status).toBe(400);
  });

  test("an unknown model → 404, an unknown version → 422, a misspelt fault directive → 422", async () => {
    expect((await create(simulator, "x", { model: "google/none" })).status).toBe(404);
    const byVersion = { version: "f".repeat(64), input: { prompt: "x" } };
    expect((await request(simulator, "POST", "/predictions", byVersion)).status).toBe(422);
    expect((await create(simulator, "x [[fault:faild]]")).status).toBe(422);
  });

  test("an input file that cannot be read, or is no image → the prediction fails and says so", async () => {
    const gone = await run(simulator, "x", { input: { image_input: [`${simulator.url}/gone.png`] } });
    expect(gone).toMatchObject({ status: "failed", output: null });
    expect(gone.error).toContain("Client error '404 Not Found' for url");
    const refused = await run(simulator, "x", { input: { image_input: ["http://127.0.0.1:9/image.png"] } });
    expect(refused.error).toContain("cannot fetch http://127.0.0.1:9/image.png");
    const text = await run(simulator, "x", { input: { image_input: ["data:text/plain;base64,aGVsbG8="] } });
    expect(text.error).toContain("cannot identify image file");
    const unknown = await run(simulator, "x", { input: { image_input: [`${simulator.apiUrl}/files/none`] } });
    expect(unknown.error).toContain("does not exist or has expired");
  });

  test("an output of an earlier prediction, by its URL and as a data URL → read", async () => {
    const first = await run(simulator, "a hill", { input: { output_format: "jpg" } });
    const url = String(first.output);
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
    const dataUrl = `data:image/jpeg;base64,${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}`;
    const second = await run(simulator, "the same later", { input: { image_input: [url, dataUrl] } });
    expect(second.error).toBeNull();
    expect(second.status).toBe("succeeded");
  });

  test("POST /predictions with `model` → makes it too", async () => {
    const body = { model: "google/nano-banana", input: { prompt: "x" } };
    expect((await wire(await request(simulator, "POST", "/predictions", body))).status).toBe("starting");
  });
});
