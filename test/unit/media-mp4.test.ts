import { expect, test } from "vitest";
import { type MediaFacts, UnusableMedia } from "../../shared/media/media.ts";
import { createMp4Reader } from "../../shared/media/mp4-reader.ts";

// What another reader finds in a real film: test/e2e/film.

function read(bytes: Uint8Array, chunkBytes = bytes.byteLength): MediaFacts {
  const reader = createMp4Reader();
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes));
  return reader.end();
}

const text = (value: string) => new TextEncoder().encode(value);
const u32 = (...values: number[]) =>
  new Uint8Array(values.flatMap((value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]));
const join = (...parts: Uint8Array[]) => new Uint8Array(parts.flatMap((part) => [...part]));
const box = (type: string, ...content: Uint8Array[]) => {
  const body = join(...content);
  return join(u32(body.byteLength + 8), text(type), body);
};
const zeros = (count: number) => new Uint8Array(count);

/** Boxes of version 0, with the given size and duration. */
const tkhd = (width: number, height: number) => box("tkhd", zeros(76), u32(width * 65536, height * 65536));
const handler = (type: string) => box("mdia", box("hdlr", zeros(8), text(type), zeros(12)));
const mvhd = (scale: number, units: number) => box("mvhd", zeros(12), u32(scale, units), zeros(80));
const track = (type: string, width: number, height: number) => box("trak", tkhd(width, height), handler(type));
const ftyp = box("ftyp", text("isom"), zeros(4));
const mdat = box("mdat", zeros(1000));
const moov = box("moov", mvhd(1000, 5000), track("soun", 0, 0), track("vide", 1280, 720));

const facts = { width: 1280, height: 720, durationSeconds: 5 };

test.each<[string, Uint8Array]>([
  ["moov before mdat", join(ftyp, moov, mdat)],
  ["moov after mdat", join(ftyp, mdat, moov)],
  ["a 64-bit mdat", join(ftyp, u32(1), text("mdat"), u32(0, 116), zeros(100), moov)],
  ["an mdat that goes on to the end", join(ftyp, moov, u32(0), text("mdat"), zeros(500))],
  ["unknown boxes", join(ftyp, box("free", zeros(9)), moov, box("abcd"), mdat)],
  [
    "times of version 1",
    join(
      ftyp,
      box(
        "moov",
        box("mvhd", u32(0x01000000), zeros(16), u32(1000, 0, 5000), zeros(80)),
        box("trak", box("tkhd", u32(0x01000000), zeros(84), u32(1280 * 65536, 720 * 65536)), handler("vide")),
      ),
      mdat,
    ),
  ],
  [
    "fragments, whose duration stands in mehd",
    join(
      ftyp,
      box("moov", mvhd(1000, 0), track("vide", 1280, 720), box("mvex", box("mehd", zeros(4), u32(5000)))),
      box("moof"),
      mdat,
    ),
  ],
])("a video with %s → its size and duration", (_name, bytes) => {
  expect(read(bytes)).toEqual(facts);
  for (const chunkBytes of [1, 3, 100]) expect(read(bytes, chunkBytes)).toEqual(facts);
});

test.each([
  ["moov before mdat", join(ftyp, moov, mdat)],
  ["moov after mdat", join(ftyp, mdat, moov)],
])("a video with %s, cut off anywhere → unusable", (_name, bytes) => {
  for (let count = 0; count < bytes.byteLength; count++) {
    expect(() => read(bytes.subarray(0, count))).toThrow(UnusableMedia);
  }
});

test.each<[string, Uint8Array]>([
  ["no moov", join(ftyp, mdat)],
  ["no mdat", join(ftyp, moov)],
  ["two moov", join(ftyp, moov, moov, mdat)],
  ["sound alone", join(ftyp, box("moov", mvhd(1000, 5000), track("soun", 0, 0)), mdat)],
  ["no duration", join(ftyp, box("moov", mvhd(1000, 0), track("vide", 1280, 720)), mdat)],
  ["an unknown duration", join(ftyp, box("moov", mvhd(1000, 0xffffffff), track("vide", 1280, 720)), mdat)],
  ["a duration in a time scale of zero", join(ftyp, box("moov", mvhd(0, 5000), track("vide", 1280, 720)), mdat)],
  ["no width", join(ftyp, box("moov", mvhd(1000, 5000), track("vide", 0, 720)), mdat)],
  ["a track without a handler", join(ftyp, box("moov", mvhd(1000, 5000), box("trak", tkhd(1280, 720))), mdat)],
  ["a header cut off within its box", join(ftyp, box("moov", box("mvhd", zeros(10)), track("vide", 1280, 720)), mdat)],
  ["an inner box larger than the outer", join(ftyp, box("moov", u32(5000), text("mvhd")), mdat)],
  ["a box smaller than its header", join(ftyp, u32(4), text("moov"), mdat)],
  ["a moov that claims to be larger than any", join(ftyp, u32(0x7fffffff), text("moov"), zeros(100))],
])("a video with %s → unusable", (_name, bytes) => {
  expect(() => read(bytes)).toThrow(UnusableMedia);
});

test("a moov that never ends → given up at 16 MiB, whatever it claims", () => {
  const reader = createMp4Reader();
  reader.push(join(ftyp, u32(0), text("moov")));
  const megabyte = zeros(1024 * 1024);
  expect(() => {
    for (let count = 0; count < 20; count++) reader.push(megabyte);
  }).toThrow(UnusableMedia);
});
