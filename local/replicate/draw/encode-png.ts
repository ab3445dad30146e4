import type { Canvas } from "@napi-rs/canvas";
import { crc32, deflateSync } from "node:zlib";

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/**
 * The canvas as a PNG of 8-bit RGB. About five times as fast as the canvas's own encoder on a grainy picture, at the
 * same size: one fixed filter (difference to the pixel above) and a low compression level.
 */
export function encodePng(canvas: Canvas): Uint8Array {
  const { width, height } = canvas;
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = deflateSync(filterRows(canvas.data(), width, height), { level: 3 });
  return concat([signature, chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", new Uint8Array())]);
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

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = concat([new TextEncoder().encode(type), data]);
  const framed = new Uint8Array(body.length + 8);
  const view = new DataView(framed.buffer);
  view.setUint32(0, data.length);
  framed.set(body, 4);
  view.setUint32(body.length + 4, crc32(body));
  return framed;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
