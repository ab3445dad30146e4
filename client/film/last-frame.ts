import * as media from "mediabunny";
import type { Size } from "../../shared/media/media.ts";
import { openVideo } from "./open.ts";
import { FilmError } from "./shots.ts";

/** The largest image that the service takes. */
const MAX_BYTES = 10 * 1024 * 1024;

/** The last picture of a video, as a player shows it. */
export async function readLastFrame(video: Blob): Promise<Blob> {
  const opened = await openVideo(video);
  if (opened === null) throw cannotRead();
  const { input, video: track, size } = opened;
  try {
    if (!(await track.canDecode())) throw cannotRead();
    const sample = await new media.VideoSampleSink(track).getSample(await track.computeDuration());
    if (!sample) throw cannotRead();
    try {
      return (await drawImage(sample, size)) ?? (await encodePng(sample, size));
    } finally {
      sample.close();
    }
  } finally {
    input.dispose();
  }
}

const cannotRead = () => new FilmError("cannot_read", "This browser cannot decode the video. Try another one.");

/** Uses a browser's canvas. Returns null without one. */
async function drawImage(sample: media.VideoSample, { width, height }: Size): Promise<Blob | null> {
  if (typeof OffscreenCanvas !== "function") return null;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  if (!context) return null;
  sample.draw(context, 0, 0, width, height);
  const png = await canvas.convertToBlob({ type: "image/png" });
  return png.size <= MAX_BYTES ? png : await canvas.convertToBlob({ type: "image/jpeg", quality: 0.95 });
}

/** Maps a position in the shown picture to the file, before rotation. `width` and `height` are those of the shown picture. */
const PLACES = {
  0: (x: number, y: number) => [x, y],
  90: (x: number, y: number, width: number) => [y, width - 1 - x],
  180: (x: number, y: number, width: number, height: number) => [width - 1 - x, height - 1 - y],
  270: (x: number, y: number, _: number, height: number) => [height - 1 - y, x],
};

/** Encodes a PNG where there is no canvas, as in Deno. */
async function encodePng(sample: media.VideoSample, { width, height }: Size): Promise<Blob> {
  const { rotation, flip, visibleRect } = sample;
  const pixels = new Uint8Array(sample.allocationSize({ format: "RGBA" }));
  await sample.copyTo(pixels, { format: "RGBA" });
  const [across, down] = rotation % 180 === 0 ? [width, height] : [height, width];
  const rows = new Uint8Array(height * (1 + 3 * width)); // each row begins with its filter: 0, none
  for (let y = 0, to = 1; y < height; y++, to++) {
    for (let x = 0; x < width; x++, to += 3) {
      const [u = 0, v = 0] = PLACES[rotation](flip ? width - 1 - x : x, y, width, height);
      const row = Math.floor((v * visibleRect.height) / down);
      const from = 4 * (row * visibleRect.width + Math.floor((u * visibleRect.width) / across));
      for (let part = 0; part < 3; part++) rows[to + part] = pixels[from + part] ?? 0;
    }
  }
  const packed = new Response(new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate")));
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint16(8, 0x0802); // 8 bits each of red, green and blue
  const signature = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [
    ...chunk("IHDR", new Uint8Array(header.buffer)),
    ...chunk("IDAT", new Uint8Array(await packed.arrayBuffer())),
    ...chunk("IEND", new Uint8Array()),
  ];
  return new Blob([signature, ...parts], { type: "image/png" });
}

/** A chunk of a PNG: length, type, data, checksum. */
function chunk(type: string, data: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const named = new Uint8Array([...new TextEncoder().encode(type), ...data]);
  let sum = -1;
  for (const byte of named) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  const number = (value: number) => {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, value);
    return bytes;
  };
  return [number(data.length), named, number(~sum)];
}
