/** A TIFF whose IFD has one entry: the header (8 bytes), the number of entries (2), the entry (12), the offset of the next IFD (4). */
const MIN_TIFF_BYTES = 26;
const ORIENTATION = 0x0112;
const SHORT = 3;

/** The tag Orientation of Exif, 1 to 8; 1 if absent or unreadable. Accepts Exif with or without the identifier that precedes it in a JPEG. */
export function readOrientation(exif: Uint8Array): number {
  const start = exif[0] === 0x45 ? "Exif\0\0".length : 0;
  if (exif.byteLength < start + MIN_TIFF_BYTES) return 1;
  const tiff = new DataView(exif.buffer, exif.byteOffset + start, exif.byteLength - start);
  const isLittleEndian = tiff.getUint16(0) === 0x4949;
  if ((!isLittleEndian && tiff.getUint16(0) !== 0x4d4d) || tiff.getUint16(2, isLittleEndian) !== 42) return 1;
  const ifd = tiff.getUint32(4, isLittleEndian);
  if (ifd + 2 > tiff.byteLength) return 1;
  const first = ifd + 2;
  const end = Math.min(first + 12 * tiff.getUint16(ifd, isLittleEndian), tiff.byteLength - 11);
  for (let entry = first; entry < end; entry += 12) {
    if (tiff.getUint16(entry, isLittleEndian) !== ORIENTATION) continue;
    const [type, count] = [tiff.getUint16(entry + 2, isLittleEndian), tiff.getUint32(entry + 4, isLittleEndian)];
    const orientation = tiff.getUint16(entry + 8, isLittleEndian);
    return type === SHORT && count === 1 && orientation >= 1 && orientation <= 8 ? orientation : 1;
  }
  return 1;
}

/** The first Exif segment (APP1) of a JPEG before its first scan; null if there is none. `head` may end within it. */
export function findJpegExif(head: Uint8Array): Uint8Array | null {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  for (let at = 2; at + 10 <= view.byteLength && view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
    while (at + 10 < view.byteLength && view.getUint8(at + 1) === 0xff) at++; // fill bytes
    if (view.getUint8(at + 1) === 0xda) return null; // SOS
    const isExif = view.getUint8(at + 1) === 0xe1 && view.getUint32(at + 4) === 0x45786966; // APP1, "Exif"
    if (isExif) return head.subarray(at + 4, at + 2 + view.getUint16(at + 2));
  }
  return null;
}
