import type { SKRSContext2D } from "@napi-rs/canvas";
import { css, mix, type Palette } from "./palettes.ts";

type Random = () => number;

/** Paints the whole canvas as sky: stars, the sun or moon with its glow, and soft clouds. */
export function paintSky(ctx: SKRSContext2D, width: number, height: number, palette: Palette, random: Random): void {
  const sky = ctx.createLinearGradient(0, 0, 0, height * 0.78);
  sky.addColorStop(0, css(palette.sky[0]));
  sky.addColorStop(0.55, css(palette.sky[1]));
  sky.addColorStop(1, css(palette.sky[2]));
  ctx.fillStyle = sky;
  ctx.fillRect(0, 0, width, height);
  if (palette.stars) paintStars(ctx, width, height, random);

  const x = width * (0.22 + random() * 0.56);
  const y = height * (palette.stars ? 0.2 + random() * 0.14 : 0.4 + random() * 0.14);
  const radius = height * (0.04 + random() * 0.035);
  ctx.save();
  ctx.globalCompositeOperation = "screen";
  for (const [reach, alpha] of [
    [11, 0.34],
    [5, 0.4],
    [2.1, 0.6],
  ] as const) {
    const glow = ctx.createRadialGradient(x, y, 0, x, y, radius * reach);
    glow.addColorStop(0, css(palette.sun, alpha));
    glow.addColorStop(0.35, css(palette.sun, alpha * 0.35));
    glow.addColorStop(1, css(palette.sun, 0));
    ctx.fillStyle = glow;
    ctx.fillRect(0, 0, width, height);
  }
  ctx.restore();
  ctx.fillStyle = css(palette.sun, 0.96);
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, Math.PI * 2);
  ctx.fill();
  paintClouds(ctx, width, height, palette, random);
}

function paintStars(ctx: SKRSContext2D, width: number, height: number, random: Random): void {
  for (let i = 0; i < 150; i++) {
    ctx.fillStyle = `rgba(255, 255, 255, ${0.15 + random() ** 3 * 0.85})`;
    const size = (0.4 + random() ** 4 * 1.4) * (height / 360);
    ctx.fillRect(random() * width, random() ** 1.4 * height * 0.62, size, size);
  }
}

function paintClouds(ctx: SKRSContext2D, width: number, height: number, palette: Palette, random: Random): void {
  const light = mix(palette.sky[2], palette.sun, 0.5);
  for (let bank = 0; bank < 5; bank++) {
    const y = height * (0.1 + random() * 0.36);
    const x = random() * width;
    const spread = width * (0.1 + random() * 0.16);
    for (let puff = 0; puff < 7; puff++) {
      const px = x + (random() - 0.5) * spread * 2;
      const size = spread * (0.25 + random() * 0.5);
      ctx.save();
      ctx.translate(px, y + (random() - 0.5) * height * 0.03);
      ctx.scale(1, 0.13);
      const soft = ctx.createRadialGradient(0, 0, 0, 0, 0, size);
      soft.addColorStop(0, css(light, 0.2));
      soft.addColorStop(1, css(light, 0));
      ctx.fillStyle = soft;
      ctx.fillRect(-size, -size, size * 2, size * 2);
      ctx.restore();
    }
  }
}

/**
 * Paints rows of hills from the hazy far ones to the dark near ones, mist lying between them.
 * `from` and `to` are heights (share of the picture) of the farthest and nearest crest; `nearest` (0 to 1) says how near
 * the first row already is; `alpha` lets what is below shine through.
 */
export function paintHills(
  ctx: SKRSContext2D,
  width: number,
  height: number,
  palette: Palette,
  random: Random,
  { rows = 6, from = 0.5, to = 0.9, nearest = 0, alpha = 1 } = {},
): void {
  for (let row = 0; row < rows; row++) {
    const depth = row / Math.max(1, rows - 1);
    const nearness = nearest + (1 - nearest) * depth;
    const base = height * (from + (to - from) * depth ** 1.15);
    const swing = height * (0.11 - 0.045 * nearness) * (0.7 + random() * 0.6);
    const colour = mix(mix(palette.far, palette.sky[2], 0.45 * (1 - nearness)), palette.near, nearness ** 0.8);
    const crest = crestLine(random, nearness);
    ctx.globalAlpha = alpha;
    const fill = ctx.createLinearGradient(0, base - swing, 0, base + height * 0.3);
    fill.addColorStop(0, css(colour));
    fill.addColorStop(1, css(mix(colour, nearness > 0.6 ? palette.near : palette.sky[2], 0.55)));
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.moveTo(0, height);
    for (let x = 0; x <= width + 2; x += 2) ctx.lineTo(x, base - swing * crest(x / width));
    ctx.lineTo(width, height);
    ctx.fill();
    ctx.globalAlpha = 1;
    if (nearness > 0.55 && nearness < 1)
      plantTrees(ctx, width, height, base, swing, crest, css(mix(colour, palette.near, 0.6), alpha), random);
  }
}

/** A ridge as a sum of waves: few and broad nearby, many and sharp far away, like real mountains. */
function crestLine(random: Random, nearness: number): (at: number) => number {
  const waves = Array.from({ length: 7 }, (_, i) => ({
    pace: (1.3 + random() * 1.4) * 1.9 ** i,
    phase: random() * Math.PI * 2,
    size: (0.62 - 0.12 * nearness) ** i,
  }));
  return (at) => {
    let sum = 0;
    for (const [i, wave] of waves.entries()) {
      const value = Math.sin(at * wave.pace * Math.PI + wave.phase);
      sum += wave.size * (i > 1 && nearness < 0.6 ? 1 - 2 * Math.abs(value) : value);
    }
    return sum * 0.8;
  };
}

function plantTrees(
  ctx: SKRSContext2D,
  width: number,
  height: number,
  base: number,
  swing: number,
  crest: (at: number) => number,
  colour: string,
  random: Random,
): void {
  ctx.fillStyle = colour;
  for (let x = random() * 20; x < width; x += height * (0.008 + random() * 0.06)) {
    const tall = height * (0.016 + random() * 0.03);
    const foot = base - swing * crest(x / width) + 2;
    ctx.beginPath();
    ctx.moveTo(x - tall * 0.24, foot);
    ctx.lineTo(x, foot - tall);
    ctx.lineTo(x + tall * 0.24, foot);
    ctx.fill();
  }
}
