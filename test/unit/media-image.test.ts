import { createCanvas } from "@napi-rs/canvas";
import { expect, test } from "vitest";
import { detectMedia, type MediaType, UnusableMedia } from "../../shared/media/media.ts";
import { createMediaReader } from "../../shared/media/media-reader.ts";

const canvas = createCanvas(200, 100);
canvas.getContext("2d").fillRect(10, 10, 50, 50);
const images: [MediaType, Uint8Array][] = [
  ["image/png", new Uint8Array(canvas.encodeSync("png"))],
  ["image/jpeg", new Uint8Array(canvas.encodeSync("jpeg"))],
  ["image/webp", new Uint8Array(canvas.encodeSync("webp"))],
];

function read(type: MediaType, bytes: Uint8Array, chunkBytes = bytes.byteLength) {
  const reader = createMediaReader(type);
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes));
  return reader.end();
}

for (const [type, bytes] of images) {
  test(`a ${type} → its kind and size, however it is cut into chunks`, () => {
    expect(detectMedia(bytes)).toBe(type);
    for (const chunkBytes of [1, 10, 1000, bytes.byteLength]) {
      expect(read(type, bytes, chunkBytes)).toEqual({ width: 200, height: 100, durationSeconds: null });
    }
  });

  test(`a ${type} cut off within its header, or with noise behind its signature → unusable`, () => {
    const noise = new Uint8Array(500).fill(7);
    noise.set(bytes.subarray(0, 12));
    for (const broken of [bytes.subarray(0, 14), noise]) expect(() => read(type, broken)).toThrow(UnusableMedia);
  });
}

test.each(images.filter(([type]) => type !== "image/jpeg"))(
  "a %s that lacks its last bytes → unusable",
  (type, bytes) => {
    expect(() => read(type, bytes.subarray(0, -20))).toThrow(UnusableMedia);
  },
);

test("a JPEG whose size stands behind 300 KB of metadata → found", () => {
  const [, jpeg] = images[1] ?? [];
  if (!jpeg) throw new Error("no JPEG");
  const segment = new Uint8Array(60_004);
  segment.set([0xff, 0xe2, (60_002 >> 8) & 255, 60_002 & 255]);
  const parts = [jpeg.subarray(0, 2), ...Array.from({ length: 5 }, () => segment), jpeg.subarray(2)];
  const bytes = new Uint8Array(parts.flatMap((part) => [...part]));
  expect(read("image/jpeg", bytes, 4096)).toEqual({ width: 200, height: 100, durationSeconds: null });
});

const ascii = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

test.each([
  ["a web page", ascii("<!doctype html><html>"), null],
  ["a GIF", ascii("GIF89a.............."), null],
  ["a WAV", ascii("RIFF\0\0\0\0WAVEfmt "), null],
  ["nothing", new Uint8Array(0), null],
  ["half a signature", ascii("\x89PNG"), null],
  ["an MP4's first bytes", ascii("\0\0\0\x18ftypisom\0\0\0\0"), "video/mp4"],
])("%s → its kind, where it is one of ours", (_name, bytes, kind) => {
  expect(detectMedia(bytes)).toBe(kind);
});
