import type { Canvas } from "@napi-rs/canvas";
import { deflateSync } from "node:zlib";
import { pngFile } from "./png-file.ts";

/**
 * The canvas as a PNG of 8-bit RGB. About five times as fast as the canvas's own encoder on a grainy picture, at the
 * same size: one fixed filter (difference to the pixel above) and a low compression level.
 */
export function encodePng(canvas: Canvas): Uint8Array {
  const { width, height } = canvas;
  const rows = deflateSync(filterRows(canvas.data(), width, height), { level: 3 });
  return pngFile({ width, height }, "rgb", rows);
}

function filterRows(rgba: Uint8Array, width: number, height: number): Uint8Array {
  const rows = new Uint8Array((width * 3 + 1) * height);
  const stride = width * 4;
  let out = 0;
  for (let y = 0; y < height; y++) {
    rows[out++] = y === 0 ? 0 : 2;
    for (let at = y * stride; at < (y + 1) * stride; at += 4) {
      for (let channel = at; channel < at + 3; channel++) {
        const above = y === 0 ? 0 : (rgba[channel - stride] ?? 0);
        rows[out++] = (rgba[channel] ?? 0) - above;
      }
    }
  }
  return rows;
}
