import { type Box, type Budget, find, part, readBoxes } from "./boxes.ts";
import type { Size } from "./media.ts";

/** An image has a few dozen. */
const MAX_BOXES = 10_000;
/** "avis", the first brand of an image sequence. */
const SEQUENCE = 0x61766973;

/** The size as browsers show an AVIF; null when this part of the file does not tell it. Of a sequence it is the track's. */
export function readAvifSize(bytes: Uint8Array): Size | null {
  const budget = { boxes: MAX_BOXES };
  const file = readBoxes(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), budget);
  const [brands, meta] = [find(file, "ftyp"), find(file, "meta")];
  if (!brands || brands.byteLength < 4 || !meta) return null;
  if (brands.getUint32(0) !== SEQUENCE) return readPrimaryItem(readBoxes(part(meta, 4), budget), budget);
  const tracks = readBoxes(find(file, "moov"), budget).filter(({ type }) => type === "trak");
  for (const { content } of tracks) {
    const boxes = readBoxes(content, budget);
    const [header, handler] = [find(boxes, "tkhd"), find(readBoxes(find(boxes, "mdia"), budget), "hdlr")];
    if (!header || !handler || handler.byteLength < 12 || handler.getUint32(8) !== PICTURES) continue;
    const at = header.getUint8(0) === 1 ? 88 : 76; // behind the times, of 64 or 32 bits, and the matrix, which browsers ignore
    if (header.byteLength >= at + 8) return { width: header.getUint16(at), height: header.getUint16(at + 4) };
  }
  return null;
}

/** "pict": a track of pictures; their transparency is in another. */
const PICTURES = 0x70696374;

/** Of an image, or of one that is made of others (ISO/IEC 23008-12): a grid has its own size. */
function readPrimaryItem(meta: Box[], budget: Budget): Size | null {
  const primary = find(meta, "pitm");
  if (!primary || primary.byteLength < 8 - 2 * Number(primary.getUint8(0) === 0)) return null;
  const id = primary.getUint8(0) === 0 ? primary.getUint16(4) : primary.getUint32(4);
  const properties = readBoxes(find(meta, "iprp"), budget);
  const all = readBoxes(find(properties, "ipco"), budget);
  const own = properties
    .filter(({ type }) => type === "ipma")
    .flatMap(({ content }) => findProperties(content, id))
    .flatMap((number) => all[number - 1] ?? []);
  const extent = find(own, "ispe");
  if (!extent || extent.byteLength < 12) return null;
  const size = crop({ width: extent.getUint32(4), height: extent.getUint32(8) }, find(own, "clap"));
  const turn = find(own, "irot");
  const isTurned = turn !== null && turn.byteLength > 0 && turn.getUint8(0) % 2 === 1;
  return isTurned ? { width: size.height, height: size.width } : size;
}

/** The numbers of an item's properties, from 1, by a box `ipma`; none when it is cut off. */
function findProperties(box: DataView, id: number): number[] {
  if (box.byteLength < 8) return [];
  const idBytes = box.getUint8(0) === 0 ? 2 : 4;
  const bytes = box.getUint8(3) & 1 ? 2 : 1;
  for (let at = 8; at + idBytes < box.byteLength; ) {
    const item = idBytes === 2 ? box.getUint16(at) : box.getUint32(at);
    const first = at + idBytes + 1;
    at = first + bytes * box.getUint8(first - 1);
    if (item !== id) continue;
    if (at > box.byteLength) return [];
    // The highest bit says that the property is essential.
    return Array.from({ length: (at - first) / bytes }, (_, each) =>
      bytes === 2 ? box.getUint16(first + 2 * each) & 0x7fff : box.getUint8(first + each) & 0x7f,
    );
  }
  return [];
}

/** Browsers crop by `clap` what begins in the upper left corner, and show all of any other. Its numbers are fractions. */
function crop(size: Size, box: DataView | null): Size {
  if (!box || box.byteLength < 32) return size;
  const [width = 0, height = 0, right = 0, down = 0] = [0, 8, 16, 24].map(
    (at) => box.getInt32(at) / box.getInt32(at + 4),
  );
  const isInCorner = (size.width - width) / 2 === -right && (size.height - height) / 2 === -down;
  const fits = width >= 1 && height >= 1 && width <= size.width && height <= size.height;
  return isInCorner && fits && Number.isInteger(width) && Number.isInteger(height) ? { width, height } : size;
}
