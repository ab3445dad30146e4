import { createCanvas, loadImage } from "@napi-rs/canvas";
import { expect, test } from "vitest";
import { shrinkPng } from "../../tools/screenshots/shrink-png.ts";

const [WIDTH, HEIGHT] = [320, 200];

/** A page with a picture: flat ground, and a gradient of some thousand colours with a small sun. */
function pageWithPicture(): Uint8Array {
  const canvas = createCanvas(WIDTH, HEIGHT);
  const context = canvas.getContext("2d");
  context.fillStyle = "#4c3bcf";
  context.fillRect(0, 0, WIDTH, HEIGHT);
  const sky = context.createLinearGradient(0, 20, 300, 180);
  sky.addColorStop(0, "#26225c");
  sky.addColorStop(0.5, "#c4546c");
  sky.addColorStop(1, "#ffbe78");
  context.fillStyle = sky;
  context.fillRect(20, 20, 280, 160);
  context.fillStyle = "#00ff40";
  context.fillRect(150, 90, 8, 8);
  return canvas.toBuffer("image/png");
}

async function pixelsOf(png: Uint8Array): Promise<Uint8ClampedArray> {
  const context = createCanvas(WIDTH, HEIGHT).getContext("2d");
  context.drawImage(await loadImage(png), 0, 0);
  return context.getImageData(0, 0, WIDTH, HEIGHT).data;
}

test("a picture of thousands of colours → 256 of them, hardly to be told apart, and smaller", async () => {
  const before = pageWithPicture();
  const after = await shrinkPng(before);
  const [one, other] = [await pixelsOf(before), await pixelsOf(after)];
  const colours = new Set<number>();
  let difference = 0;
  for (let at = 0; at < other.length; at += 4) {
    colours.add(((other[at] ?? 0) << 16) | ((other[at + 1] ?? 0) << 8) | (other[at + 2] ?? 0));
    for (let channel = at; channel < at + 3; channel++) {
      difference += Math.abs((one[channel] ?? 0) - (other[channel] ?? 0));
    }
  }
  expect(colours.size).toBeLessThanOrEqual(256);
  expect(colours.size).toBeGreaterThan(100);
  expect(difference / (WIDTH * HEIGHT * 3)).toBeLessThan(2); // of 255
  expect(after.length).toBeLessThan(before.length);
});

test("the ground, and a small spot of a colour of its own → kept as they are", async () => {
  const pixels = await pixelsOf(await shrinkPng(pageWithPicture()));
  const at = (x: number, y: number) => [...pixels.slice((y * WIDTH + x) * 4, (y * WIDTH + x) * 4 + 3)];
  expect(at(2, 2)).toEqual([0x4c, 0x3b, 0xcf]);
  expect(at(154, 94)).toEqual([0, 255, 0x40]);
});
