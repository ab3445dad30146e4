import type { Canvas, Image, SKRSContext2D } from "@napi-rs/canvas";
import { cover } from "../draw/cover.ts";

/**
 * Draws one moment of the film, `at` running from 0 to 1: the camera moves into the first image while the last one comes
 * to rest through it. At 0 this is exactly the first image, at 1 exactly the last one; without a last one a slow zoom.
 */
export function drawFrame(
  ctx: SKRSContext2D,
  size: { width: number; height: number },
  first: Image | Canvas,
  last: Image | Canvas | null,
  at: number,
): void {
  const eased = at * at * (3 - 2 * at);
  cover(ctx, first, 0, 0, size.width, size.height, 1 + 0.14 * eased);
  if (!last) return;
  ctx.globalAlpha = eased;
  cover(ctx, last, 0, 0, size.width, size.height, 1 + 0.14 * (1 - eased));
  ctx.globalAlpha = 1;
}
