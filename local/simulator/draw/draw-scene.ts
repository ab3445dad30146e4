import { createCanvas, type Canvas, type Image } from "@napi-rs/canvas";
import { paintCaption } from "./caption.ts";
import { cover } from "./cover.ts";
import { finish } from "./finish.ts";
import { paintHills, paintSky } from "./landscape.ts";
import { choosePalette, css, type Palette } from "./palettes.ts";
import { seededRandom } from "./seeded-random.ts";

/** The text of a prompt as it may be shown: without the fault directives. */
export function visiblePrompt(prompt: string): string {
  return prompt
    .replace(/\[\[fault:[^\]]*\]\]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/**
 * Draws the picture of a prompt: always the same one for the same prompt, size and references.
 * The first reference becomes the scene's backdrop in the prompt's light, and every one (up to three) hangs as a small
 * print in the corner, so it can be seen that it was used.
 */
export function drawScene(scene: {
  prompt: string;
  width: number;
  height: number;
  references: readonly Image[];
}): Canvas {
  const { width, height, references } = scene;
  const prompt = visiblePrompt(scene.prompt);
  const palette = choosePalette(prompt);
  const random = seededRandom(prompt);
  const canvas = createCanvas(width, height);
  const ctx = canvas.getContext("2d");

  const [backdrop] = references;
  if (backdrop) {
    lightBackdrop(canvas, backdrop, palette);
    paintHills(ctx, width, height, palette, random, { rows: 3, from: 0.8, to: 0.95, nearest: 0.72, alpha: 0.9 });
  } else {
    paintSky(ctx, width, height, palette, random);
    paintHills(ctx, width, height, palette, random);
  }
  finish(ctx, width, height);
  paintCaption(ctx, width, height, prompt);
  hangPrints(canvas, references.slice(0, 3));
  return canvas;
}

/** The reference over the whole picture, its colours drawn towards the palette's light. */
function lightBackdrop(canvas: Canvas, image: Image, palette: Palette): void {
  const ctx = canvas.getContext("2d");
  const { width, height } = canvas;
  cover(ctx, image, 0, 0, width, height, 1.06);
  const light = ctx.createLinearGradient(0, 0, 0, height);
  light.addColorStop(0, css(palette.sky[0]));
  light.addColorStop(0.55, css(palette.sky[2]));
  light.addColorStop(1, css(palette.near));
  ctx.fillStyle = light;
  for (const [operation, alpha] of [
    ["color", 0.5],
    ["soft-light", 0.6],
  ] as const) {
    ctx.globalCompositeOperation = operation;
    ctx.globalAlpha = alpha;
    ctx.fillRect(0, 0, width, height);
  }
  ctx.globalAlpha = 1;
  ctx.globalCompositeOperation = "source-over";
}

function hangPrints(canvas: Canvas, images: readonly Image[]): void {
  const ctx = canvas.getContext("2d");
  const [tall, gap] = [Math.round(canvas.height * 0.17), Math.round(canvas.height * 0.04)];
  const wide = Math.round((tall * 16) / 9);
  for (const [i, image] of images.entries()) {
    const x = canvas.width - gap - wide - i * (wide + gap);
    ctx.save();
    ctx.shadowColor = "rgba(0, 0, 0, 0.5)";
    ctx.shadowBlur = gap;
    ctx.fillStyle = "rgba(255, 255, 255, 0.92)";
    ctx.fillRect(x - 2, gap - 2, wide + 4, tall + 4);
    ctx.restore();
    cover(ctx, image, x, gap, wide, tall);
  }
}
