import { findJpegExif, readOrientation } from "../shared/media/exif.ts";

const HEAD_BYTES = 128 * 1024;

type Image = Blob | Uint8Array<ArrayBuffer> | ArrayBuffer;

/**
 * Turns the pixels of a JPEG with an Exif orientation upright, because models ignore the orientation and the service refuses such images.
 * Needs a browser's canvas. Elsewhere, and for any other image, it returns the given one.
 */
export async function makeUpright(image: Image): Promise<Image> {
  if (typeof createImageBitmap !== "function" || typeof OffscreenCanvas !== "function") return image;
  const head = image instanceof Blob ? await image.slice(0, HEAD_BYTES).arrayBuffer() : image;
  const bytes = head instanceof Uint8Array ? head : new Uint8Array(head);
  const exif = bytes[0] === 0xff && bytes[1] === 0xd8 ? findJpegExif(bytes) : null;
  if (exif === null || readOrientation(exif) === 1) return image;
  const file = image instanceof Blob ? image : new Blob([image]);
  const bitmap = await createImageBitmap(file).catch(() => null); // turned
  if (bitmap === null) return image; // the service says what is wrong with it
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  bitmap.close();
  return await canvas.convertToBlob({ type: "image/jpeg", quality: 0.95 });
}
