import { createCanvas } from "@napi-rs/canvas";
import { encodePng } from "./draw/encode-png.ts";
import { finish } from "./draw/finish.ts";
import { paintHills, paintSky } from "./draw/landscape.ts";
import { choosePalette, css, palettes } from "./draw/palettes.ts";
import { seededRandom } from "./draw/seeded-random.ts";

const [width, height] = [1024, 576];

/**
 * A photograph-like picture (PNG, 1024×576) of mountains over a lake at a soft hour, to stand in for a user's reference image.
 * The same seed gives the same bytes.
 */
export function drawReferencePhoto(seed: string): Uint8Array {
  const random = seededRandom(`photo ${seed}`);
  const soft = random() < 0.6 ? "sunset" : "dawn";
  const palette = palettes.find(({ name }) => name === soft) ?? choosePalette(seed);
  const shore = Math.round(height * 0.7);

  const view = createCanvas(width, shore);
  const above = view.getContext("2d");
  paintSky(above, width, shore, palette, random);
  paintHills(above, width, shore, palette, random, { rows: 6, from: 0.58, to: 1 });

  const canvas = createCanvas(width, height);
  const ctx = canvas.getContext("2d");
  ctx.drawImage(view, 0, 0);

  // The lake: the view upside down, softened and stretched sideways by ripples, darker towards the viewer.
  for (let y = shore; y < height; y += 2) {
    const depth = (y - shore) / (height - shore);
    const mirrored = Math.max(0, shore - (y - shore) * 1.9 - 4);
    const sway = Math.sin(y * 0.9 + random() * 2) * depth * 7;
    ctx.drawImage(view, 0, mirrored, width, 2, sway - 8, y, width + 16, 2);
  }
  const water = ctx.createLinearGradient(0, shore, 0, height);
  water.addColorStop(0, css(palette.sky[2], 0.22));
  water.addColorStop(0.25, css(palette.near, 0.2));
  water.addColorStop(1, css(palette.near, 0.78));
  ctx.fillStyle = water;
  ctx.fillRect(0, shore, width, height - shore);
  const haze = ctx.createLinearGradient(0, shore - 26, 0, shore + 14);
  haze.addColorStop(0, css(palette.sky[2], 0));
  haze.addColorStop(0.6, css(palette.sky[2], 0.34));
  haze.addColorStop(1, css(palette.sky[2], 0));
  ctx.fillStyle = haze;
  ctx.fillRect(0, shore - 26, width, 40);

  finish(ctx, width, height);
  return encodePng(canvas);
}
