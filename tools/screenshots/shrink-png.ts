import { deflateSync } from "node:zlib";
import { createCanvas, loadImage } from "@napi-rs/canvas";
import { pngFile } from "../../local/simulator/draw/png.ts";
import { choosePalette } from "./choose-palette.ts";

/** The same picture in at most 256 colours: a third of the bytes, and hardly to be told apart. */
export async function shrinkPng(png: Uint8Array): Promise<Uint8Array> {
  const image = await loadImage(png);
  const { width, height } = image;
  const context = createCanvas(width, height).getContext("2d");
  context.drawImage(image, 0, 0);
  const rgba = context.getImageData(0, 0, width, height).data;
  const palette = choosePalette(rgba);
  const nearest = finder(palette);
  const rows = new Uint8Array((width + 1) * height); // each begins with its filter: 0, none
  for (let pixel = 0; pixel < width * height; pixel++) {
    const at = pixel * 4;
    const entry = nearest(rgba[at] ?? 0, rgba[at + 1] ?? 0, rgba[at + 2] ?? 0);
    rows[pixel + Math.floor(pixel / width) + 1] = entry;
  }
  return pngFile({ width, height }, "palette", deflateSync(rows, { level: 9 }), Uint8Array.from(palette.flat()));
}

/** Looks up the entry of a palette that is nearest to a colour; each colour is searched once. */
function finder(palette: readonly [number, number, number][]): (red: number, green: number, blue: number) => number {
  const known = new Map<number, number>();
  return (red, green, blue) => {
    const colour = (red << 16) | (green << 8) | blue;
    const found = known.get(colour);
    if (found !== undefined) return found;
    let best = 0;
    let least = Number.POSITIVE_INFINITY;
    for (const [at, [r, g, b]] of palette.entries()) {
      const distance = (r - red) ** 2 * 2 + (g - green) ** 2 * 4 + (b - blue) ** 2 * 3; // as the eye weighs them
      if (distance < least) [best, least] = [at, distance];
    }
    known.set(colour, best);
    return best;
  };
}
