import { type Canvas, createCanvas, GlobalFonts, type Image, type SKRSContext2D } from "@napi-rs/canvas";
import { hashText, seededRandom } from "../random.ts";

/** The words of a prompt that choose a scene's colours: sky from zenith to horizon, sun or moon, far and near land. */
const palettes: readonly [RegExp, string][] = [
  [/sunset|golden|dusk|evening|warm/i, "#26225c #c4546c #ffbe78 #ffecbe #bc6c76 #1e142c"],
  [/dawn|sunrise|morning|mist|fog/i, "#5c80be #e8b6c4 #ffe4c4 #fffae0 #b0a8c6 #26324a"],
  [/night|moon|star|space/i, "#060a22 #142658 #4a689e #ecf0ff #2e467a #040814"],
  [/\bday\b|blue|summer|sea|ocean|lake|island/i, "#286ec4 #7cb8e8 #e2f0f6 #fffcec #84acc4 #163a38"],
  [/forest|wood|tree|jungle|green|spring|garden/i, "#2c585c #80b094 #ece8ba #fffad2 #749c84 #0c221c"],
  [/desert|sand|dune|canyon|mars|autumn/i, "#3c5c8c #e0a878 #ffe0a8 #fff6d6 #d69668 #54261c"],
  [/snow|winter|ice|arctic|frost|cold/i, "#465c86 #9eb2d0 #ececf0 #fffffa #b0c0d6 #223048"],
  [/neon|cyber|city|synth|future|robot/i, "#120830 #742084 #ff7896 #ffd6e2 #783896 #0e0622"],
];

const FONTS = ["Inter", "Helvetica Neue", "Segoe UI", "Noto Sans", "DejaVu Sans", "Liberation Sans", "Arial"];
const families = GlobalFonts.families.map(({ family }) => family);
/** Undefined on a machine without fonts: pictures then have no caption. */
const font = FONTS.find((family) => families.includes(family)) ?? families[0];

type Size = { width: number; height: number };

/**
 * Draws the picture of a prompt and a seed, the same one for the same prompt, seed, size and references. The first reference becomes the
 * sky, in the colours of the prompt; up to three are shown small in the corner, so that a person sees that they were used.
 */
export function drawPicture(text: string, seed: number, { width, height }: Size, references: readonly Image[]): Canvas {
  const prompt = text
    .replace(/\[\[fault:[^\]]*\]\]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  const canvas = paintLandscape(prompt, { width, height }, seed, references[0]);
  const ctx = canvas.getContext("2d");
  paintSeed(ctx, seed, 1);
  paintCaption(ctx, prompt);
  const [tall, gap] = [height * 0.17, height * 0.04];
  const wide = (tall * 16) / 9;
  for (const [i, image] of references.slice(0, 3).entries()) {
    const x = width - (i + 1) * (wide + gap);
    ctx.fillStyle = "#fff";
    ctx.fillRect(x - 2, gap - 2, wide + 4, tall + 4);
    cover(ctx, image, [x, gap, wide, tall]);
  }
  return canvas;
}

/** A PNG of 1024×576 for a user's reference image, the same bytes for the same name. */
export function drawReferencePhoto(name: string): Uint8Array {
  return new Uint8Array(paintLandscape(`photo ${name}`, { width: 1024, height: 576 }, 0).toBuffer("image/png"));
}

/** A sky with its sun or moon, or an image in its place, and rows of hills, from far and hazy to near and dark. */
function paintLandscape(prompt: string, { width, height }: Size, seed: number, background?: Image): Canvas {
  const canvas = createCanvas(width, height);
  const ctx = canvas.getContext("2d");
  const random = seededRandom(`${prompt} ${seed}`);
  const palette = palettes.find(([words]) => words.test(prompt)) ?? palettes[hashText(prompt) % palettes.length];
  const [zenith = "", middle = "", horizon = "", sun = "", far = "", near = ""] = palette?.[1].split(" ") ?? [];
  if (background) {
    cover(ctx, background, [0, 0, width, height]);
    // The image gets the light of this prompt: a night made from a sunset looks like a night.
    for (const [blend, share] of [
      ["color", 0.6],
      ["soft-light", 0.7],
    ] as const) {
      ctx.globalCompositeOperation = blend;
      ctx.globalAlpha = share;
      paint(ctx, ctx.createLinearGradient(0, 0, 0, height), [zenith, middle, near]);
    }
    ctx.globalCompositeOperation = "source-over";
    ctx.globalAlpha = 1;
  } else {
    paint(ctx, ctx.createLinearGradient(0, 0, 0, height * 0.78), [zenith, middle, horizon]);
    const [x, y, radius] = [
      width * (0.22 + random() * 0.56),
      height * (0.3 + random() * 0.2),
      height * (0.04 + random() * 0.03),
    ];
    for (const reach of [11, 5, 2]) {
      paint(ctx, ctx.createRadialGradient(x, y, 0, x, y, radius * reach), [`${sun}70`, `${sun}20`, `${sun}00`]);
    }
    ctx.fillStyle = sun;
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, Math.PI * 2);
    ctx.fill();
  }
  const rows = 6;
  for (let row = background ? 4 : 0; row < rows; row++) {
    const depth = row / (rows - 1);
    const base = height * (0.5 + 0.42 * depth);
    const waves = Array.from({ length: 6 }, (_, i) => [1.9 ** i * (1 + random()), random() * 6, 0.55 ** i] as const);
    ctx.beginPath();
    ctx.moveTo(0, height);
    for (let x = 0; x <= width + 2; x += 2) {
      const rise = waves.reduce((sum, [pace, phase, size]) => sum + size * Math.sin((x / width) * pace * 3 + phase), 0);
      ctx.lineTo(x, base - height * (0.07 - 0.03 * depth) * rise);
    }
    ctx.lineTo(width, height);
    ctx.fillStyle = far;
    ctx.fill();
    ctx.globalAlpha = depth;
    ctx.fillStyle = near;
    ctx.fill();
    ctx.globalAlpha = 1;
  }
  return canvas;
}

type Gradient = ReturnType<SKRSContext2D["createLinearGradient"]>;

/** Fills the whole canvas with a gradient of these colours. */
function paint(ctx: SKRSContext2D, gradient: Gradient, colours: readonly string[]): void {
  for (const [i, colour] of colours.entries()) gradient.addColorStop(i / (colours.length - 1), colour);
  ctx.fillStyle = gradient;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
}

/** Gives a picture the colour of its seed and writes the seed into its corner, so that takes of one prompt differ even when small. */
export function paintSeed(ctx: SKRSContext2D, seed: number, light: number): void {
  const { width, height } = ctx.canvas;
  const colour = `hsl(${(seed * 137.508) % 360}, 85%, 45%)`; // by the golden angle, so that neighbours differ
  ctx.globalCompositeOperation = "soft-light";
  ctx.globalAlpha = 0.4 * light;
  ctx.fillStyle = colour;
  ctx.fillRect(0, 0, width, height);
  ctx.globalCompositeOperation = "source-over";
  ctx.globalAlpha = 1;
  const [size, gap, label] = [Math.round(height / 20), height * 0.04, `seed ${seed}`];
  if (font) ctx.font = `600 ${size}px "${font}"`;
  // The label is equally wide for each seed, because a picture made from another one covers that one's seed.
  const wide = font ? Math.max(...[label, "seed 000000"].map((text) => ctx.measureText(text).width)) : size;
  ctx.beginPath();
  ctx.roundRect(gap, gap, wide + size, size * 1.6, size * 0.8);
  ctx.fill();
  ctx.fillStyle = "#fff";
  if (font) ctx.fillText(label, gap + size / 2, gap + size * 1.16);
}

/** Writes the text in at most two lines over a shade at the foot of the picture. */
function paintCaption(ctx: SKRSContext2D, text: string): void {
  if (!font || text === "") return;
  const { width, height } = ctx.canvas;
  const [size, margin] = [Math.round(height / 24), Math.round(height / 18)];
  paint(ctx, ctx.createLinearGradient(0, height * 0.7, 0, height), ["#0000", "#000a"]);
  ctx.font = `500 ${size}px "${font}"`;
  ctx.fillStyle = "#fffffff0";
  const lines = [""];
  for (const word of text.slice(0, 240).split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (ctx.measureText(longer).width <= width - margin * 2) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  const shown = lines.length > 2 ? [lines[0] ?? "", `${lines[1]} …`] : lines;
  for (const [i, line] of shown.toReversed().entries()) ctx.fillText(line, margin, height - margin - i * size * 1.35);
}

export type Picture = Image | Canvas;
type Box = readonly [x: number, y: number, width: number, height: number];

/** Draws an image into a box without distortion and cuts what exceeds it, as CSS `object-fit: cover`. */
export function cover(ctx: SKRSContext2D, image: Picture, [x, y, width, height]: Box, zoom = 1): void {
  const scale = Math.max(width / image.width, height / image.height) * zoom;
  const [cutWidth, cutHeight] = [width / scale, height / scale];
  const [left, top] = [(image.width - cutWidth) / 2, (image.height - cutHeight) / 2];
  ctx.drawImage(image, left, top, cutWidth, cutHeight, x, y, width, height);
}
