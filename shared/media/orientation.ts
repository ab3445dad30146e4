/** Bytes of a TIFF whose only directory has one entry. */
const SHORTEST = 26;

/** The Exif orientation, 2 to 8; 1 when the image is upright or has no readable Exif. */
export function readOrientation(exif: Uint8Array): number {
  const start = exif[0] === 0x45 ? "Exif\0\0".length : 0;
  if (exif.byteLength < start + SHORTEST) return 1;
  const tiff = new DataView(exif.buffer, exif.byteOffset + start, exif.byteLength - start);
  const isLittle = tiff.getUint16(0) === 0x4949;
  if ((!isLittle && tiff.getUint16(0) !== 0x4d4d) || tiff.getUint16(2, isLittle) !== 42) return 1;
  const directory = tiff.getUint32(4, isLittle);
  if (directory + 2 > tiff.byteLength) return 1;
  const first = directory + 2;
  const end = Math.min(first + 12 * tiff.getUint16(directory, isLittle), tiff.byteLength - 11);
  for (let entry = first; entry < end; entry += 12) {
    if (tiff.getUint16(entry, isLittle) !== 0x0112) continue;
    const isShort = tiff.getUint16(entry + 2, isLittle) === 3 && tiff.getUint32(entry + 4, isLittle) === 1;
    const orientation = tiff.getUint16(entry + 8, isLittle);
    return isShort && orientation >= 1 && orientation <= 8 ? orientation : 1;
  }
  return 1;
}

/** The Exif of a JPEG, wherever it stands before the picture; null without one. `head` may end within it. */
export function findJpegExif(head: Uint8Array): Uint8Array | null {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  for (let at = 2; at + 10 <= view.byteLength && view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
    while (at + 10 < view.byteLength && view.getUint8(at + 1) === 0xff) at++; // fills
    if (view.getUint8(at + 1) === 0xda) return null;
    const isExif = view.getUint8(at + 1) === 0xe1 && view.getUint32(at + 4) === 0x45786966; // "Exif"
    if (isExif) return head.subarray(at + 4, at + 2 + view.getUint16(at + 2));
  }
  return null;
}
