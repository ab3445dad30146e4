import { crc32 } from "node:zlib";

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/** How the pixels of a PNG stand in its rows: 8 bits for each channel, or for an entry of the palette. */
const colourTypes = { rgb: 2, palette: 3 };

/**
 * A PNG file.
 *
 * @param rows the filtered rows, deflated
 * @param palette red, green, blue of each entry; for the colours "palette"
 */
export function pngFile(
  size: { width: number; height: number },
  colours: keyof typeof colourTypes,
  rows: Uint8Array,
  palette?: Uint8Array,
): Uint8Array {
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, size.width);
  view.setUint32(4, size.height);
  header.set([8, colourTypes[colours], 0, 0, 0], 8);
  const colourTable = palette === undefined ? [] : [chunk("PLTE", palette)];
  return concat([
    signature,
    chunk("IHDR", header),
    ...colourTable,
    chunk("IDAT", rows),
    chunk("IEND", new Uint8Array()),
  ]);
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
