import { createCanvas, type SKRSContext2D } from "@napi-rs/canvas";
import { seededRandom } from "./seeded-random.ts";

const tileSize = 128;

/** One tile of film grain, the same for every picture: drawing noise per pixel would cost more than the whole scene. */
const grainTile = (() => {
  const random = seededRandom("grain");
  const tile = createCanvas(tileSize, tileSize);
  const ctx = tile.getContext("2d");
  const pixels = ctx.createImageData(tileSize, tileSize);
  for (let i = 0; i < pixels.data.length; i += 4) {
    const value = random() < 0.5 ? 0 : 255;
    pixels.data.set([value, value, value, Math.round(random() ** 2 * 14)], i);
  }
  ctx.putImageData(pixels, 0, 0);
  return tile;
})();

/** Darkens the corners and lays film grain over the picture. */
export function finish(ctx: SKRSContext2D, width: number, height: number): void {
  const vignette = ctx.createRadialGradient(
    width / 2,
    height * 0.48,
    height * 0.45,
    width / 2,
    height / 2,
    width * 0.66,
  );
  vignette.addColorStop(0, "rgba(0, 0, 0, 0)");
  vignette.addColorStop(1, "rgba(0, 0, 0, 0.42)");
  ctx.fillStyle = vignette;
  ctx.fillRect(0, 0, width, height);
  const grain = ctx.createPattern(grainTile, "repeat");
  if (!grain) return;
  ctx.fillStyle = grain;
  ctx.fillRect(0, 0, width, height);
}
