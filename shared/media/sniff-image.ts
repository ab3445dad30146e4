/** The facts about an image in its bytes. */
export type Image = { contentType: "image/png" | "image/jpeg" | "image/webp"; width: number; height: number };

const MAX_PIXELS_A_SIDE = 16_384;
const MAX_PIXELS = 100_000_000;

/**
 * Recognises PNG, JPEG and WebP and reads their size from the headers. Null for anything else, and for a size that is too large to decode.
 * It does not decode: a file that is cut off later passes.
 */
export function sniffImage(bytes: Uint8Array): Image | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let image: Image | null;
  try {
    image = sniffPng(view) ?? sniffJpeg(view) ?? sniffWebp(view);
  } catch (error) {
    if (error instanceof RangeError) return null; // ends within its header
    throw error;
  }
  if (image === null || Math.min(image.width, image.height) < 1) return null;
  const fits = Math.max(image.width, image.height) <= MAX_PIXELS_A_SIDE && image.width * image.height <= MAX_PIXELS;
  return fits ? image : null;
}

const ascii = (view: DataView, offset: number, length: number): string =>
  String.fromCharCode(...Array.from({ length }, (_, index) => view.getUint8(offset + index)));

/** https://www.w3.org/TR/png-3/: the signature, then the chunk IHDR of 13 bytes. */
function sniffPng(view: DataView): Image | null {
  if (view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a) return null;
  if (view.getUint32(8) !== 13 || ascii(view, 12, 4) !== "IHDR") return null;
  view.getUint32(29); // the checksum of IHDR: reached only when the header is whole
  return { contentType: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
}

/** ITU-T T.81: segments up to the first start of frame (SOF0 to SOF15, without the three other markers of that range). */
function sniffJpeg(view: DataView): Image | null {
  if (view.getUint16(0) !== 0xffd8) return null;
  let offset = 2;
  while (view.getUint8(offset) === 0xff) {
    const marker = view.getUint8(offset + 1);
    if (marker === 0xff) {
      offset += 1; // fill byte
      continue;
    }
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { contentType: "image/jpeg", height: view.getUint16(offset + 5), width: view.getUint16(offset + 7) };
    }
    const length = view.getUint16(offset + 2);
    if (length < 2 || marker < 0xc0 || (marker >= 0xd0 && marker <= 0xda)) return null; // no segment may stand here before the frame
    offset += 2 + length;
  }
  return null;
}

/** https://developers.google.com/speed/webp/docs/riff_container: lossy, lossless and extended. */
function sniffWebp(view: DataView): Image | null {
  if (ascii(view, 0, 4) !== "RIFF" || ascii(view, 8, 4) !== "WEBP" || view.getUint32(4, true) + 8 > view.byteLength)
    return null;
  const chunk = ascii(view, 12, 4);
  const uint24 = (offset: number) => view.getUint16(offset, true) | (view.getUint8(offset + 2) << 16);
  const contentType = "image/webp";
  if (chunk === "VP8 " && uint24(23) === 0x2a019d) {
    return { contentType, width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  }
  if (chunk === "VP8L" && view.getUint8(20) === 0x2f) {
    const bits = view.getUint32(21, true);
    return { contentType, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return chunk === "VP8X" ? { contentType, width: uint24(24) + 1, height: uint24(27) + 1 } : null;
}
