/** TIFF, big-endian, with one directory of one entry. Its byte 19 is the orientation. */
const ORIENTATION_ONLY = [
  ...[0x4d, 0x4d, 0, 42, 0, 0, 0, 8], // where the directory is
  ...[0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0], // one entry: tag 0x0112, one SHORT
  ...[0, 0, 0, 0], // no other directory
];

/** The Exif orientation, 2 to 8; 1 when the image is upright or has no readable Exif. */
export function readOrientation(exif: Uint8Array): number {
  const start = exif[0] === 0x45 ? "Exif\0\0".length : 0;
  // Shorter Exif has no entry, and writeOrientation needs this many bytes.
  if (exif.byteLength < start + ORIENTATION_ONLY.length) return 1;
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

/** Exif with the orientation only, never longer than the Exif it was read from. */
export function writeOrientation(orientation: number): Uint8Array {
  return Uint8Array.from(ORIENTATION_ONLY.with(19, orientation));
}
