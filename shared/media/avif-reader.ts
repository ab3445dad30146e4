import { type Box, type Budget, findBox, readBoxes, viewFrom } from "./boxes.ts";
import type { Size } from "./media.ts";

/** An image has a few dozen boxes. */
const MAX_BOXES = 10_000;
/** The major brand of an image sequence, "avis". */
const AVIS = 0x61766973;
/** The handler type of an image sequence's track, "pict". Its alpha plane is a track with the handler "auxv". */
const PICT = 0x70696374;

/** The size as browsers show an AVIF. For an image sequence it is the track's size. Null if these first bytes do not state it. */
export function readAvifSize(bytes: Uint8Array): Size | null {
  const budget = { boxes: MAX_BOXES };
  const file = readBoxes(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), budget);
  const [ftyp, meta] = [findBox(file, "ftyp"), findBox(file, "meta")];
  if (!ftyp || ftyp.byteLength < 4 || !meta) return null;
  if (ftyp.getUint32(0) !== AVIS) return readPrimaryItemSize(readBoxes(viewFrom(meta, 4), budget), budget);
  const traks = readBoxes(findBox(file, "moov"), budget).filter(({ type }) => type === "trak");
  for (const { content } of traks) {
    const trak = readBoxes(content, budget);
    const [tkhd, hdlr] = [findBox(trak, "tkhd"), findBox(readBoxes(findBox(trak, "mdia"), budget), "hdlr")];
    if (!tkhd || !hdlr || hdlr.byteLength < 12 || hdlr.getUint32(8) !== PICT) continue;
    const at = tkhd.getUint8(0) === 1 ? 88 : 76; // width and height in 16.16, after the matrix, which browsers ignore
    if (tkhd.byteLength >= at + 8) return { width: tkhd.getUint16(at), height: tkhd.getUint16(at + 4) };
  }
  return null;
}

/** The size of a coded or a derived image item (ISO/IEC 23008-12, 6.5 and 6.6): a grid has an `ispe` of its own. */
function readPrimaryItemSize(meta: Box[], budget: Budget): Size | null {
  const pitm = findBox(meta, "pitm");
  if (!pitm || pitm.byteLength < 8 - 2 * Number(pitm.getUint8(0) === 0)) return null;
  const itemId = pitm.getUint8(0) === 0 ? pitm.getUint16(4) : pitm.getUint32(4);
  const iprp = readBoxes(findBox(meta, "iprp"), budget);
  const ipco = readBoxes(findBox(iprp, "ipco"), budget);
  const properties = iprp
    .filter(({ type }) => type === "ipma")
    .flatMap(({ content }) => readPropertyIndexes(content, itemId))
    .flatMap((index) => ipco[index - 1] ?? []);
  const ispe = findBox(properties, "ispe");
  if (!ispe || ispe.byteLength < 12) return null;
  const size = crop({ width: ispe.getUint32(4), height: ispe.getUint32(8) }, findBox(properties, "clap"));
  const irot = findBox(properties, "irot");
  const isQuarterTurn = irot !== null && irot.byteLength > 0 && irot.getUint8(0) % 2 === 1;
  return isQuarterTurn ? { width: size.height, height: size.width } : size;
}

/** The property_index values, from 1, that an `ipma` associates with this item. None if they are cut off. */
function readPropertyIndexes(ipma: DataView, itemId: number): number[] {
  if (ipma.byteLength < 8) return [];
  const idBytes = ipma.getUint8(0) === 0 ? 2 : 4;
  const indexBytes = ipma.getUint8(3) & 1 ? 2 : 1;
  for (let at = 8; at + idBytes < ipma.byteLength; ) {
    const entryItemId = idBytes === 2 ? ipma.getUint16(at) : ipma.getUint32(at);
    const first = at + idBytes + 1;
    at = first + indexBytes * ipma.getUint8(first - 1); // association_count
    if (entryItemId !== itemId) continue;
    if (at > ipma.byteLength) return [];
    // The highest bit is the flag `essential`.
    return Array.from({ length: (at - first) / indexBytes }, (_, association) =>
      indexBytes === 2 ? ipma.getUint16(first + 2 * association) & 0x7fff : ipma.getUint8(first + association) & 0x7f,
    );
  }
  return [];
}

/** Browsers apply a clean aperture only if it begins in the upper left corner and has whole sides; otherwise they show the whole image. */
function crop(size: Size, clap: DataView | null): Size {
  if (!clap || clap.byteLength < 32) return size;
  const [width = 0, height = 0, horizOff = 0, vertOff = 0] = [0, 8, 16, 24].map(
    (at) => clap.getInt32(at) / clap.getInt32(at + 4), // numerator and denominator
  );
  const isInCorner = (size.width - width) / 2 === -horizOff && (size.height - height) / 2 === -vertOff;
  const fits = width >= 1 && height >= 1 && width <= size.width && height <= size.height;
  return isInCorner && fits && Number.isInteger(width) && Number.isInteger(height) ? { width, height } : size;
}
