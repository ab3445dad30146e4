import type { SKRSContext2D } from "@napi-rs/canvas";
import { hashText } from "../random.ts";

type Colour = readonly [red: number, green: number, blue: number];

/** The light of one scene: the sky from zenith to horizon, the sun or moon, and the land from far to near. */
type Palette = {
  sky: readonly [zenith: Colour, middle: Colour, horizon: Colour];
  sun: Colour;
  far: Colour;
  near: Colour;
  stars: boolean;
};

/** The words of a prompt that choose each palette, and its colours: zenith, middle, horizon, sun, far and near land. */
const palettes = {
  sunset: [/sunset|golden|dusk|evening|warm/i, "26225c c4546c ffbe78 ffecbe bc6c76 1e142c"],
  dawn: [/dawn|sunrise|morning|mist|fog/i, "5c80be e8b6c4 ffe4c4 fffae0 b0a8c6 26324a"],
  night: [/night|moon|star|space|midnight/i, "060a22 142658 4a689e ecf0ff 2e467a 040814"],
  day: [/\bday\b|blue|summer|sea|ocean|lake|island/i, "286ec4 7cb8e8 e2f0f6 fffcec 84acc4 163a38"],
  forest: [/forest|wood|tree|jungle|green|spring|garden/i, "2c585c 80b094 ece8ba fffad2 749c84 0c221c"],
  desert: [/desert|sand|dune|canyon|mars|autumn/i, "3c5c8c e0a878 ffe0a8 fff6d6 d69668 54261c"],
  winter: [/snow|winter|ice|arctic|frost|cold/i, "465c86 9eb2d0 ececf0 fffffa b0c0d6 223048"],
  neon: [/neon|cyber|city|synth|future|robot/i, "120830 742084 ff7896 ffd6e2 783896 0e0622"],
} as const satisfies Record<string, [RegExp, string]>;

type PaletteName = keyof typeof palettes;
const names = Object.keys(palettes) as PaletteName[];

export function css([red, green, blue]: Colour, alpha = 1): string {
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

/** The colour between two others, at a share from 0 to 1. */
function mix(from: Colour, to: Colour, share: number): Colour {
  const [red, green, blue] = from.map((value, i) => Math.round(value + ((to[i] ?? 0) - value) * share));
  return [red ?? 0, green ?? 0, blue ?? 0];
}

/** The named palette; without a name the one whose words are in the prompt, else one by the prompt's hash. */
export function choosePalette(prompt: string, name?: PaletteName): Palette {
  const hash = hashText(prompt);
  const chosen = name ?? names.find((one) => palettes[one][0].test(prompt)) ?? names[hash % names.length] ?? "day";
  // A tint by the hash: two prompts with the same palette still differ in colour.
  const tint = name ? 0 : ((hash >>> 8) % 37) - 18;
  const colour = (at: number, share: number): Colour => {
    const value = Number.parseInt(palettes[chosen][1].slice(at * 7, at * 7 + 6), 16);
    const shift = (channel: number, by: number) => Math.max(0, Math.min(255, Math.round((channel & 255) + by * share)));
    return [shift(value >> 16, tint), shift(value >> 8, -0.3 * tint), shift(value, -0.6 * tint)];
  };
  return {
    sky: [colour(0, 1), colour(1, 1), colour(2, 0.6)],
    sun: colour(3, 0),
    far: colour(4, 1),
    near: colour(5, 0.5),
    stars: chosen === "night" || chosen === "neon",
  };
}

/** What a scene is painted with: the canvas, its size, its colours and its own random numbers. */
export type Brush = { ctx: SKRSContext2D; width: number; height: number; palette: Palette; random: () => number };

type Gradient = ReturnType<SKRSContext2D["createLinearGradient"]>;

/** Fills a box with a gradient; `stops` are positions from 0 to 1 and their colours. */
export function fillGradient(
  ctx: SKRSContext2D,
  gradient: Gradient,
  stops: readonly (readonly [at: number, colour: string])[],
  box: readonly [x: number, y: number, width: number, height: number],
): void {
  for (const [at, colour] of stops) gradient.addColorStop(at, colour);
  ctx.fillStyle = gradient;
  ctx.fillRect(...box);
}

/** Paints the whole canvas as sky: stars, the sun or moon with its glow, and soft clouds. */
export function paintSky({ ctx, width, height, palette, random }: Brush): void {
  const { sky, sun, stars } = palette;
  const all = [0, 0, width, height] as const;
  const colours = [[0, css(sky[0])] as const, [0.55, css(sky[1])] as const, [1, css(sky[2])] as const];
  fillGradient(ctx, ctx.createLinearGradient(0, 0, 0, height * 0.78), colours, all);
  for (let i = 0; stars && i < 150; i++) {
    ctx.fillStyle = `rgba(255, 255, 255, ${0.15 + random() ** 3 * 0.85})`;
    const size = (0.4 + random() ** 4 * 1.4) * (height / 360);
    ctx.fillRect(random() * width, random() ** 1.4 * height * 0.62, size, size);
  }

  const x = width * (0.22 + random() * 0.56);
  const y = height * (stars ? 0.2 + random() * 0.14 : 0.4 + random() * 0.14);
  const radius = height * (0.04 + random() * 0.035);
  const glow = (reach: number, alpha: number) => {
    const steps = [[0, css(sun, alpha)] as const, [0.35, css(sun, alpha * 0.35)] as const, [1, css(sun, 0)] as const];
    fillGradient(ctx, ctx.createRadialGradient(x, y, 0, x, y, radius * reach), steps, all);
  };
  ctx.globalCompositeOperation = "screen";
  glow(11, 0.34);
  glow(5, 0.4);
  glow(2.1, 0.6);
  ctx.globalCompositeOperation = "source-over";
  ctx.fillStyle = css(sun, 0.96);
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, Math.PI * 2);
  ctx.fill();

  const light = mix(sky[2], sun, 0.5);
  for (let bank = 0; bank < 5; bank++) {
    const [x, y, spread] = [random() * width, height * (0.1 + random() * 0.36), width * (0.1 + random() * 0.16)];
    for (let puff = 0; puff < 7; puff++) {
      const size = spread * (0.25 + random() * 0.5);
      ctx.save();
      ctx.translate(x + (random() - 0.5) * spread * 2, y + (random() - 0.5) * height * 0.03);
      ctx.scale(1, 0.13);
      const soft = [[0, css(light, 0.2)] as const, [1, css(light, 0)] as const];
      fillGradient(ctx, ctx.createRadialGradient(0, 0, 0, 0, 0, size), soft, [-size, -size, size * 2, size * 2]);
      ctx.restore();
    }
  }
}

/**
 * Paints rows of hills, far and hazy to near and dark. `from` and `to` are the heights of the farthest and nearest crest
 * (share of the picture); `nearest` (0 to 1) is how near the first row is; `alpha` lets the background shine through.
 */
export function paintHills(brush: Brush, { rows = 6, from = 0.5, to = 0.9, nearest = 0, alpha = 1 } = {}): void {
  const { ctx, width, height, palette, random } = brush;
  for (let row = 0; row < rows; row++) {
    const depth = row / (rows - 1);
    const nearness = nearest + (1 - nearest) * depth;
    const base = height * (from + (to - from) * depth ** 1.15);
    const swing = height * (0.11 - 0.045 * nearness) * (0.7 + random() * 0.6);
    const colour = mix(mix(palette.far, palette.sky[2], 0.45 * (1 - nearness)), palette.near, nearness ** 0.8);
    const wave = crestLine(random, nearness);
    const crest = (x: number) => base - swing * wave(x / width);
    const fill = ctx.createLinearGradient(0, base - swing, 0, base + height * 0.3);
    fill.addColorStop(0, css(colour, alpha));
    fill.addColorStop(1, css(mix(colour, nearness > 0.6 ? palette.near : palette.sky[2], 0.55), alpha));
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.moveTo(0, height);
    for (let x = 0; x <= width + 2; x += 2) ctx.lineTo(x, crest(x));
    ctx.lineTo(width, height);
    ctx.fill();
    if (nearness <= 0.55 || nearness === 1) continue;
    ctx.fillStyle = css(mix(colour, palette.near, 0.6), alpha);
    for (let x = random() * 20; x < width; x += height * (0.008 + random() * 0.06)) paintTree(brush, x, crest(x) + 2);
  }
}

/** A ridge as a sum of waves: broad in the near rows, sharp in the far ones. */
function crestLine(random: () => number, nearness: number): (at: number) => number {
  const waves = Array.from({ length: 7 }, (_, i) => ({
    pace: (1.3 + random() * 1.4) * 1.9 ** i,
    phase: random() * Math.PI * 2,
    size: (0.62 - 0.12 * nearness) ** i,
  }));
  return (at) => {
    const heights = waves.map(({ pace, phase, size }, i) => {
      const value = Math.sin(at * pace * Math.PI + phase);
      return size * (i > 1 && nearness < 0.6 ? 1 - 2 * Math.abs(value) : value);
    });
    return heights.reduce((sum, height) => sum + height, 0) * 0.8;
  };
}

function paintTree({ ctx, height, random }: Brush, x: number, foot: number): void {
  const tall = height * (0.016 + random() * 0.03);
  ctx.beginPath();
  ctx.moveTo(x - tall * 0.24, foot);
  ctx.lineTo(x, foot - tall);
  ctx.lineTo(x + tall * 0.24, foot);
  ctx.fill();
}
