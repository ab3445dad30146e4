import type { Canvas, Image, SKRSContext2D } from "@napi-rs/canvas";

/**
 * Draws `image` so that it fills the given box without being stretched, cutting what stands out (as CSS `object-fit: cover`).
 * `zoom` of 1 is the plain picture, more moves in on its middle.
 */
export function cover(
  ctx: SKRSContext2D,
  image: Image | Canvas,
  x: number,
  y: number,
  width: number,
  height: number,
  zoom = 1,
): void {
  const scale = Math.max(width / image.width, height / image.height) * zoom;
  const [cutWidth, cutHeight] = [width / scale, height / scale];
  ctx.drawImage(
    image,
    (image.width - cutWidth) / 2,
    (image.height - cutHeight) / 2,
    cutWidth,
    cutHeight,
    x,
    y,
    width,
    height,
  );
}
