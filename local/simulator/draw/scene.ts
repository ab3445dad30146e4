import { type Canvas, createCanvas, GlobalFonts, type Image, type SKRSContext2D } from "@napi-rs/canvas";
import { seededRandom } from "../random.ts";
import { type Brush, choosePalette, css, fillGradient, paintHills, paintSky } from "./landscape.ts";
import { encodePng } from "./png.ts";

type Picture = Image | Canvas;
const fonts = ["Inter", "Helvetica Neue", "Segoe UI", "Noto Sans", "DejaVu Sans", "Liberation Sans", "Arial"];
const families = GlobalFonts.families.map(({ family }) => family);
/** Undefined on a machine without fonts: pictures then have no caption. */
const font = fonts.find((family) => families.includes(family)) ?? families[0];

/** The text of a prompt without fault directives, as the caption shows it. */
function visiblePrompt(prompt: string): string {
  return prompt
    .replace(/\[\[fault:[^\]]*\]\]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/**
 * Draws the picture of a prompt, the same one for the same prompt, size and references. The first reference becomes the
 * background; up to three are shown small in the corner, so that a person sees that they were used.
 */
export function drawScene(scene: {
  prompt: string;
  width: number;
  height: number;
  references: readonly Image[];
}): Canvas {
  const { width, height, references } = scene;
  const prompt = visiblePrompt(scene.prompt);
  const canvas = createCanvas(width, height);
  const ctx = canvas.getContext("2d");
  const brush: Brush = { ctx, width, height, palette: choosePalette(prompt), random: seededRandom(prompt) };
  const [background] = references;
  if (background) {
    paintBackground(brush, background);
    paintHills(brush, { rows: 3, from: 0.8, to: 0.95, nearest: 0.72, alpha: 0.9 });
  } else {
    paintSky(brush);
    paintHills(brush);
  }
  darkenCorners(ctx, width, height);
  paintCaption(ctx, width, height, prompt);

  const [tall, gap] = [Math.round(height * 0.17), Math.round(height * 0.04)];
  const wide = Math.round((tall * 16) / 9);
  for (const [i, image] of references.slice(0, 3).entries()) {
    const x = width - gap - wide - i * (wide + gap);
    ctx.fillStyle = "rgba(255, 255, 255, 0.92)";
    ctx.fillRect(x - 2, gap - 2, wide + 4, tall + 4);
    cover(ctx, image, [x, gap, wide, tall]);
  }
  return canvas;
}

/**
 * Draws one moment of a film, `at` from 0 to 1: it zooms into the first image while the last one fades in. At 0 this is
 * exactly the first image, at 1 exactly the last one.
 */
export function drawFrame(
  ctx: SKRSContext2D,
  { width, height }: { width: number; height: number },
  first: Picture,
  last: Picture | null,
  at: number,
): void {
  const eased = at * at * (3 - 2 * at);
  cover(ctx, first, [0, 0, width, height], 1 + 0.14 * eased);
  if (!last) return;
  ctx.globalAlpha = eased;
  cover(ctx, last, [0, 0, width, height], 1 + 0.14 * (1 - eased));
  ctx.globalAlpha = 1;
}

/** A PNG of 1024×576 for a user's reference image: mountains, the same bytes for the same seed. */
export function drawReferencePhoto(seed: string): Uint8Array {
  const [width, height] = [1024, 576];
  const random = seededRandom(`photo ${seed}`);
  const palette = choosePalette(seed, random() < 0.6 ? "sunset" : "dawn");
  const canvas = createCanvas(width, height);
  const brush: Brush = { ctx: canvas.getContext("2d"), width, height, palette, random };
  paintSky(brush);
  paintHills(brush, { from: 0.58, to: 1 });
  return encodePng(canvas);
}

/** The reference over the whole picture, coloured by the palette. */
function paintBackground({ ctx, width, height, palette }: Brush, image: Image): void {
  const all = [0, 0, width, height] as const;
  cover(ctx, image, all, 1.06);
  const { sky, near } = palette;
  const light = [[0, css(sky[0])] as const, [0.55, css(sky[2])] as const, [1, css(near)] as const];
  ctx.globalCompositeOperation = "color";
  ctx.globalAlpha = 0.5;
  fillGradient(ctx, ctx.createLinearGradient(0, 0, 0, height), light, all);
  ctx.globalCompositeOperation = "soft-light";
  ctx.globalAlpha = 0.6;
  fillGradient(ctx, ctx.createLinearGradient(0, 0, 0, height), light, all);
  ctx.globalCompositeOperation = "source-over";
  ctx.globalAlpha = 1;
}

function darkenCorners(ctx: SKRSContext2D, width: number, height: number): void {
  const [x, y] = [width / 2, height / 2];
  const shade = ctx.createRadialGradient(x, y, height * 0.45, x, y, width * 0.66);
  const stops = [[0, "rgba(0, 0, 0, 0)"] as const, [1, "rgba(0, 0, 0, 0.42)"] as const];
  fillGradient(ctx, shade, stops, [0, 0, width, height]);
}

/** Writes `text` in at most two lines over a shade at the foot of the picture. */
function paintCaption(ctx: SKRSContext2D, width: number, height: number, text: string): void {
  if (!font || text === "") return;
  const size = Math.round(height / 24);
  const margin = Math.round(height / 18);
  ctx.font = `500 ${size}px "${font}"`;
  const lines = wrap(ctx, text, width - margin * 2);
  const tall = size * 1.35 * lines.length + margin * 2.2;
  const stops = [[0, "rgba(0, 0, 0, 0)"] as const, [1, "rgba(0, 0, 0, 0.6)"] as const];
  fillGradient(ctx, ctx.createLinearGradient(0, height - tall, 0, height), stops, [0, height - tall, width, tall]);
  ctx.fillStyle = "rgba(255, 255, 255, 0.94)";
  ctx.textBaseline = "bottom";
  for (const [i, line] of lines.entries()) {
    ctx.fillText(line, margin, height - margin * 0.8 - (lines.length - 1 - i) * size * 1.35);
  }
}

function wrap(ctx: SKRSContext2D, text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.slice(0, 240).split(" ")) {
    const line = lines.at(-1);
    if (line === "") lines[lines.length - 1] = word;
    else if (ctx.measureText(`${line} ${word}`).width <= width) lines[lines.length - 1] = `${line} ${word}`;
    else if (lines.length < 2) lines.push(word);
    else return [lines[0] ?? "", `${line} …`];
  }
  return lines;
}

/** Draws an image into a box without distortion and cuts what exceeds it, as CSS `object-fit: cover`. */
function cover(
  ctx: SKRSContext2D,
  image: Picture,
  [x, y, width, height]: readonly [x: number, y: number, width: number, height: number],
  zoom = 1,
): void {
  const scale = Math.max(width / image.width, height / image.height) * zoom;
  const [cutWidth, cutHeight] = [width / scale, height / scale];
  const [left, top] = [(image.width - cutWidth) / 2, (image.height - cutHeight) / 2];
  ctx.drawImage(image, left, top, cutWidth, cutHeight, x, y, width, height);
}
