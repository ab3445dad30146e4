import { createCanvas } from "@napi-rs/canvas";
import { stripMetadata } from "../../../shared/media/strip-metadata.ts";

type Kind = "png" | "jpeg" | "webp";

/** A real picture of 48 × 27 in a random colour, so that no two have the same bytes. */
export async function drawImage(kind: Kind = "png"): Promise<Uint8Array<ArrayBuffer>> {
  const canvas = createCanvas(48, 27);
  const context = canvas.getContext("2d");
  const [red, green, blue] = crypto.getRandomValues(new Uint8Array(3));
  context.fillStyle = `rgb(${red}, ${green}, ${blue})`;
  context.fillRect(0, 0, 48, 27);
  context.fillStyle = "white";
  context.fillRect(12, 8, 20, 10);
  const drawn = new Uint8Array(kind === "png" ? await canvas.encode("png") : await canvas.encode(kind, 90));
  return withoutNames(drawn, kind);
}

/** As it is stored: the canvas names its maker in the colour profile. */
export function withoutNames(image: Uint8Array<ArrayBuffer>, kind: Kind): Uint8Array<ArrayBuffer> {
  return new Uint8Array(stripMetadata(image, `image/${kind}`)?.bytes ?? []);
}

/** An image of exactly `size` bytes: decoders ignore what follows the end. */
export async function imageOf(size: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(size);
  bytes.set(await drawImage("png"));
  return bytes;
}

export const iconOf = (png: Uint8Array, side: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(22 + png.length);
  const view = new DataView(bytes.buffer);
  bytes.set([0, 0, 1, 0, 1, 0, side, side, 0, 0, 1, 0, 32, 0]);
  view.setUint32(14, png.length, true);
  view.setUint32(18, 22, true);
  bytes.set(png, 22);
  return bytes;
};

/** A black BMP of OS/2, whose header is shorter. */
export function os2BmpOf(width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(26 + Math.ceil((3 * width) / 4) * 4 * height);
  const view = new DataView(bytes.buffer);
  bytes.set([0x42, 0x4d]);
  for (const [at, value] of [bytes.length, 0, 26, 12].entries()) view.setUint32(2 + 4 * at, value, true);
  for (const [at, value] of [width, height, 1, 24].entries()) view.setUint16(18 + 2 * at, value, true);
  return bytes;
}

/** A black BMP. Its rows go from top to bottom when its height is negative. */
export function bmpOf(width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(54 + 3 * width * Math.abs(height));
  const view = new DataView(bytes.buffer);
  bytes.set([0x42, 0x4d]);
  for (const [at, value] of [bytes.length, 0, 54, 40, width, height].entries()) view.setInt32(2 + 4 * at, value, true);
  bytes.set([1, 0, 24, 0], 26);
  return bytes;
}
