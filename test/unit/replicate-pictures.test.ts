import { createCanvas, loadImage } from "@napi-rs/canvas";
import { createFile, MP4BoxBuffer } from "mp4box";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { encodePng } from "../../local/simulator/draw/png.ts";
import { drawFrame, drawReferencePhoto, drawScene, visiblePrompt } from "../../local/simulator/draw/scene.ts";
import { type RunningSimulator, startSimulator } from "../../local/simulator/start-simulator.ts";
import { planFilm } from "../../local/simulator/make-output.ts";
import { run } from "./replicate-test-kit.ts";

const size = { width: 640, height: 360 };
const scene = (prompt: string, references: Parameters<typeof drawScene>[0]["references"] = []) =>
  drawScene({ prompt, ...size, references });

/** How different two pictures of the same size are: the mean difference of a colour value, 0 to 255. */
function difference(a: Uint8Array, b: Uint8Array): number {
  expect(a.length).toBe(b.length);
  return a.reduce((sum, value, i) => sum + Math.abs(value - (b[i] ?? 0)), 0) / a.length;
}

describe("images", () => {
  test("the same prompt → the same bytes; another prompt → another picture; a directive is not drawn", () => {
    const first = encodePng(scene("a lighthouse"));
    expect(encodePng(scene("a lighthouse"))).toEqual(first);
    expect(difference(scene("a lighthouse").data(), scene("a harbour").data())).toBeGreaterThan(5);
    expect(encodePng(scene("a lighthouse [[fault:failed=x]]"))).toEqual(first);
    expect(visiblePrompt("  a [[fault:output_huge=chunked]]  b ")).toBe("a b");
  });

  test("a reference → seen in the picture: other references, other pictures", async () => {
    const references = [await loadImage(drawReferencePhoto("one")), await loadImage(drawReferencePhoto("two"))];
    const [one, two] = references.map((reference) => scene("a lighthouse", [reference]).data());
    expect(difference(one ?? new Uint8Array(), scene("a lighthouse").data())).toBeGreaterThan(8);
    expect(difference(one ?? new Uint8Array(), two ?? new Uint8Array())).toBeGreaterThan(3);
  });

  test("a PNG of our encoder → read back pixel for pixel", async () => {
    const canvas = scene("a lighthouse");
    const back = createCanvas(size.width, size.height);
    back.getContext("2d").drawImage(await loadImage(encodePng(canvas)), 0, 0);
    expect(difference(back.data(), canvas.data())).toBe(0);
  });

  test("drawReferencePhoto → a PNG of 1024×576, the same for the same seed", async () => {
    const photo = drawReferencePhoto("seed");
    const { width, height } = await loadImage(photo);
    expect([width, height]).toEqual([1024, 576]);
    expect(drawReferencePhoto("seed")).toEqual(photo);
    expect(drawReferencePhoto("other")).not.toEqual(photo);
  });
});

describe("videos", () => {
  test.each([
    [null, 48, 24],
    [2, 48, 24],
    [5, 60, 12],
    [10, 60, 6],
    [-1, 48, 24],
  ])("%s s → %i frames at %i a second", (seconds, frames, fps) => {
    expect(planFilm(seconds, size)).toEqual({ ...size, frames, fps });
  });

  test("the film at 0 and 1 → the first and the last image, exactly", () => {
    const [first, last, canvas] = [scene("dawn"), scene("night"), createCanvas(size.width, size.height)];
    const moment = (at: number) => {
      drawFrame(canvas.getContext("2d"), size, first, last, at);
      return Uint8Array.from(canvas.data());
    };
    expect(difference(moment(0), first.data())).toBe(0);
    expect(difference(moment(1), last.data())).toBe(0);
    expect(difference(moment(0.5), first.data())).toBeGreaterThan(5);
  });
});

// Films are really encoded, which is the machine's own speed.
describe("outputs over HTTP", { timeout: 120_000 }, () => {
  let simulator: RunningSimulator;
  beforeAll(async () => {
    simulator = await startSimulator();
  });
  afterAll(() => simulator.stop());

  const imageSize = async (input: Record<string, unknown>, model = "google/nano-banana") => {
    const { output } = await run(simulator, "a hill", { model, input });
    const [url] = [output].flat();
    const response = await fetch(String(url));
    const bytes = new Uint8Array(await response.arrayBuffer());
    expect(response.headers.get("content-length")).toBe(String(bytes.length));
    const { width, height } = await loadImage(bytes);
    return [response.headers.get("content-type"), width, height];
  };

  test("no wishes → a PNG of 640×360; another ratio and format → as asked", async () => {
    expect(await imageSize({})).toEqual(["image/png", 640, 360]);
    expect(await imageSize({ aspect_ratio: "9:16" })).toEqual(["image/png", 360, 640]);
    expect(await imageSize({ aspect_ratio: "1:1", output_format: "jpg" })).toEqual(["image/jpeg", 480, 480]);
    const webp = { output_format: "webp", aspect_ratio: "16:9" };
    expect(await imageSize(webp, "black-forest-labs/flux-2-pro")).toEqual(["image/webp", 640, 360]);
  });

  test("a group of three images → three addresses", async () => {
    const input = { sequential_image_generation: "auto", max_images: 3 };
    const { output } = await run(simulator, "a story", { model: "bytedance/seedream-4.5", input });
    expect(output).toHaveLength(3);
    expect(new Set(output).size).toBe(3);
  });

  test("a film between two images → an H.264 MP4 of the length asked for, with progress in its logs", async () => {
    const frame = async (prompt: string) => (await run(simulator, prompt)).output;
    const input = {
      start_image: await frame("dawn"),
      end_image: await frame("night"),
      mode: "pro",
      duration: 5,
    };
    const done = await run(simulator, "the sun sets", { model: "kwaivgi/kling-v2.1", input });
    expect(done.error).toBeNull();
    expect(done.logs).toMatch(/ 4\/60 [\s\S]* 60\/60 /);
    const response = await fetch(String(done.output));
    expect(response.headers.get("content-type")).toBe("video/mp4");
    const file = createFile();
    file.appendBuffer(MP4BoxBuffer.fromArrayBuffer(await response.arrayBuffer(), 0));
    file.flush();
    const info = file.getInfo();
    const [track] = info.videoTracks;
    expect(track?.codec).toMatch(/^avc1\./);
    expect(track?.nb_samples).toBe(60);
    expect([track?.track_width, track?.track_height]).toEqual([640, 360]);
    expect(info.duration / info.timescale).toBeCloseTo(5, 1);
  });

  test("veo with reference images → its last frame is not even looked at", async () => {
    const image = (await run(simulator, "a face")).output;
    const input = { image, last_frame: `${simulator.url}/gone.png`, reference_images: [image], duration: 4 };
    expect((await run(simulator, "x", { model: "google/veo-3.1", input })).status).toBe("succeeded");
    const strict = { image, last_frame: `${simulator.url}/gone.png`, duration: 4 };
    expect((await run(simulator, "x", { model: "google/veo-3.1", input: strict })).status).toBe("failed");
  });
});
