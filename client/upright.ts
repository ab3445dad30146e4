const HEAD_BYTES = 128 * 1024;

type Image = Blob | Uint8Array<ArrayBuffer> | ArrayBuffer;

/**
 * A JPEG whose Exif turns it when it is shown, with its pixels turned: models read them as they lie in the file, and the service refuses
 * it. Needs a browser's canvas; elsewhere, and for any other image, it is the given one.
 */
export async function makeUpright(image: Image): Promise<Image> {
  if (typeof createImageBitmap !== "function" || typeof OffscreenCanvas !== "function") return image;
  const head = image instanceof Blob ? await image.slice(0, HEAD_BYTES).arrayBuffer() : image;
  const bytes = head instanceof Uint8Array ? head : new Uint8Array(head);
  if (readOrientation(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)) === 1) return image;
  const file = image instanceof Blob ? image : new Blob([image]);
  const bitmap = await createImageBitmap(file).catch(() => null); // turned
  if (bitmap === null) return image; // the service says what is wrong with it
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  bitmap.close();
  return await canvas.convertToBlob({ type: "image/jpeg", quality: 0.95 });
}

const [APP1, SOS] = [0xffe1, 0xffda];
const EXIF = 0x45786966;

/** The Exif orientation of a JPEG, 1 to 8; 1 without one. The Exif may stand anywhere before the picture. */
function readOrientation(head: DataView): number {
  try {
    let at = head.getUint16(0) === 0xffd8 ? 2 : head.byteLength;
    for (
      let marker = head.getUint16(at);
      marker !== APP1 || head.getUint32(at + 4) !== EXIF;
      marker = head.getUint16(at)
    ) {
      if (marker < 0xffc0 || marker === SOS) return 1;
      at += marker === 0xffff ? 1 : 2 + head.getUint16(at + 2); // 0xFF before a marker fills
    }
    const tiff = at + 10;
    const isLittle = head.getUint16(tiff) === 0x4949;
    const directory = tiff + head.getUint32(tiff + 4, isLittle);
    for (let entry = 0; entry < head.getUint16(directory, isLittle); entry++) {
      const tag = directory + 2 + 12 * entry;
      if (head.getUint16(tag, isLittle) === 0x0112) return head.getUint16(tag + 8, isLittle);
    }
  } catch {
    // RangeError: it ends early
  }
  return 1;
}
