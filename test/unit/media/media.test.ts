import { Buffer } from "node:buffer";
import { createCanvas } from "@napi-rs/canvas";
import * as media from "mediabunny";
import { describe, expect, test } from "vitest";
import { sniffImage } from "../../../shared/media/image-reader.ts";
import { detectMedia, type MediaFacts, type MediaType, UnusableMedia } from "../../../shared/media/media.ts";
import { createMediaReader } from "../../../supabase/functions/keyframe-generate/tasks/store.ts";
import { CLIPS, patched, placesOf, readClip, recorded } from "../../support/media/clips.ts";
import { bmpOf } from "../../support/media/images.ts";
import { ODD_IMAGES, ODD_VIDEOS } from "../../support/media/odd-files.ts";
import { drawPhoto, withLocation } from "../../support/media/photos.ts";

const canvas = createCanvas(200, 100);
canvas.getContext("2d").fillRect(10, 10, 50, 50);
const png = new Uint8Array(canvas.encodeSync("png"));
const jpeg = new Uint8Array(canvas.encodeSync("jpeg"));
const webp = new Uint8Array(canvas.encodeSync("webp"));
const uploads: [MediaType, Uint8Array][] = [
  ["image/png", png],
  ["image/jpeg", jpeg],
  ["image/webp", webp],
];
const others: [MediaType, Uint8Array][] = [
  ["image/gif", new Uint8Array(canvas.encodeSync("gif"))],
  ["image/avif", new Uint8Array(canvas.encodeSync("avif"))],
  ["image/bmp", bmpOf(200, -100)],
];
const images = [...uploads, ...others];

function read(type: MediaType, bytes: Uint8Array, chunkBytes = bytes.byteLength) {
  const reader = createMediaReader(type);
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes));
  return reader.end();
}

test.each(images)("a %s → its kind and size: in a larger buffer, and in chunks however it is cut", (type, bytes) => {
  const buffer = new Uint8Array(bytes.length + 7);
  buffer.set(bytes, 7);
  const isUploaded = uploads.some(([kind]) => kind === type);
  expect(sniffImage(buffer.subarray(7))).toEqual(isUploaded ? { contentType: type, width: 200, height: 100 } : null);
  expect(detectMedia(bytes)).toBe(type);
  for (const chunkBytes of [1, 10, 1000, bytes.byteLength]) {
    expect(read(type, bytes, chunkBytes)).toEqual({ width: 200, height: 100, durationSeconds: null, hasAudio: null });
  }
});

test.each(images)("a %s cut off within its header, or with noise behind its signature → unusable", (type, bytes) => {
  const noise = new Uint8Array(500).fill(7);
  noise.set(bytes.subarray(0, 12));
  for (const broken of [bytes.subarray(0, 14), noise]) expect(() => read(type, broken)).toThrow(UnusableMedia);
});

test.each(uploads.filter(([type]) => type !== "image/jpeg"))(
  "a %s that is cut off in its picture, or goes on behind its end → read as it is shown, with a note",
  (type, bytes) => {
    const shown = { width: 200, height: 100, durationSeconds: null, hasAudio: null, note: "odd_end" };
    for (const odd of [bytes.subarray(0, -20), join(bytes, zeros(1)), join(bytes, zeros(100_000))]) {
      for (const chunkBytes of [7, 1000, bytes.length, odd.length]) expect(read(type, odd, chunkBytes)).toEqual(shown);
    }
  },
);

test("a PNG cut off before its picture → unusable", () => {
  expect(() => read("image/png", png.subarray(0, 33))).toThrow("cut off");
});

/** Turned by a box instead of the one with the depth of its colours; decoders demand that it is marked as essential. */
const turnedAvif = (quarters: number) => {
  const avif = new Uint8Array(canvas.encodeSync("avif"));
  const boxed = patched(patched(avif, "pixi", 4, [quarters]), "pixi", 0, text("irot"));
  return patched(boxed, "ipma", 16, [0x82]);
};

test.each(["jpeg", "png"] as const)(
  "a %s that its Exif turns → its sides are those that browsers show",
  async (kind) => {
    for (const [turn, width, height] of [
      [1, 48, 32],
      [3, 48, 32],
      [6, 32, 48],
      [8, 32, 48],
    ] as const) {
      const bytes = withLocation(kind, await drawPhoto(kind), turn);
      for (const chunkBytes of [1, 50, bytes.byteLength])
        expect(read(`image/${kind}`, bytes, chunkBytes)).toMatchObject({ width, height });
    }
  },
);

test("an AVIF that is turned by a quarter → its sides are those that browsers show", () => {
  for (const [quarters, width, height] of [
    [0, 200, 100],
    [1, 100, 200],
    [2, 200, 100],
    [3, 100, 200],
  ] as const)
    expect(read("image/avif", turnedAvif(quarters))).toMatchObject({ width, height });
});

test("a JPEG whose size stands behind 3 MB of metadata → found", () => {
  const segment = new Uint8Array(60_004);
  segment.set([0xff, 0xe2, (60_002 >> 8) & 255, 60_002 & 255]);
  const parts = [jpeg.subarray(0, 2), ...Array.from({ length: 50 }, () => segment), jpeg.subarray(2)];
  const bytes = new Uint8Array(Buffer.concat(parts));
  expect(read("image/jpeg", bytes, 4096)).toEqual({ width: 200, height: 100, durationSeconds: null, hasAudio: null });
});

const changed = (bytes: Uint8Array, at: number, values: number[]) => {
  const copy = bytes.slice();
  copy.set(values, at);
  return copy;
};
const u32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
const text = (words: string) => [...words].map((letter) => letter.charCodeAt(0));
const riff = (chunk: string, data: number[]) => {
  const content = [...text("WEBP"), ...text(chunk), data.length, 0, 0, 0, ...data];
  return new Uint8Array([...text("RIFF"), content.length, 0, 0, 0, ...content]);
};

test.each<[string, number[]]>([
  ["VP8 ", [0x50, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x42, 0x68, 0x81]],
  ["VP8L", [0x2f, 0x7f, 0xc2, 0x59, 0x00]],
  ["VP8X", [0, 0, 0, 0, 0x7f, 0x02, 0x00, 0x67, 0x01, 0x00]],
])("a WebP that begins with %s → its size", (chunk, data) => {
  expect(sniffImage(riff(chunk, data))).toEqual({ contentType: "image/webp", width: 640, height: 360 });
});

test("a JPEG with a table of Huffman codes, a comment and fill bytes before its frame", () => {
  const before = [0xff, 0xd8, 0xff, 0xe1, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 9, 0xff, 0xff, 0xfe, 0, 2];
  const frame = [0xff, 0xc2, 0, 11, 8, 1, 0x68, 2, 0x80, 1, 1, 0x11, 0];
  const size = { contentType: "image/jpeg", width: 640, height: 360 };
  expect(sniffImage(new Uint8Array([...before, ...frame]))).toEqual(size);
});

/** https://iphonedev.wiki/CgBI_file_format */
const cgbi = [0, 0, 0, 4, ...text("CgBI"), 0x50, 0, 0x20, 2, 0, 0, 0, 0];
const iosPng = new Uint8Array([...png.slice(0, 8), ...cgbi, ...png.slice(8)]);

// Whose parts do not fit their lengths: strip-metadata.test.ts.
describe("anything else → null", () => {
  test.each<[string, Uint8Array]>([
    ["nothing", new Uint8Array()],
    ["a PNG whose first chunk is not IHDR", changed(png, 12, text("IDAT"))],
    ["a PNG for iOS, which other decoders cannot read", iosPng],
    ["a JPEG without a frame", new Uint8Array([0xff, 0xd8, 0xff, 0xd9])],
    [
      "a JPEG whose scan comes before its frame",
      new Uint8Array([0xff, 0xd8, 0xff, 0xda, 0, 2, 0xff, 0xc0, 0, 11, 8, 0, 9, 0, 9]),
    ],
    ["a JPEG cut before its frame", jpeg.slice(0, 20)],
    ["a JPEG of height 0", new Uint8Array([0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 0, 2, 0x80, 1, 1, 0x11, 0])],
    ["RIFF that is sound", new Uint8Array([...text("RIFF"), 4, 0, 0, 0, ...text("WAVE")])],
    ["WebP of an unknown chunk", riff("VP9 ", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
  ])("%s", (_name, bytes) => {
    expect(sniffImage(bytes)).toBeNull();
  });
});

test.each([
  [16_384, 1, true],
  [1, 16_384, true],
  [10_000, 10_000, true],
  [16_385, 1, false],
  [1, 16_385, false],
  [10_001, 10_000, false],
  [0, 5, false],
  [5, 0, false],
  [0xffffffff, 0xffffffff, false],
])("a PNG that says %i × %i → taken: %s", (width, height, taken) => {
  expect(sniffImage(changed(png, 16, [...u32(width), ...u32(height)])) !== null).toBe(taken);
});

test("a frame that is larger than an upload may be → its size, up to what browsers show", () => {
  const sized = (width: number, height: number) => read("image/png", changed(png, 16, [...u32(width), ...u32(height)]));
  expect(sized(20_000, 10_000)).toMatchObject({ width: 20_000, height: 10_000 });
  expect(() => sized(0xffffffff, 0xffffffff)).toThrow("too large to be shown");
});

test("an AVIF whose list of properties has 160,000 entries → unusable, not another error", () => {
  const entries = new Uint8Array(8 + 480_000);
  entries.set(u32(160_000), 4);
  const meta = box("meta", zeros(4), box("iprp", box("ipma", entries)));
  const brand = box("ftyp", ascii("avif"), zeros(4));
  expect(() => read("image/avif", new Uint8Array(Buffer.concat([brand, meta])))).toThrow(UnusableMedia);
});

// What another reader finds in a real film: test/e2e/film.

const words = (...values: number[]) => new Uint8Array(values.flatMap(u32));
const ascii = (value: string) => new Uint8Array(text(value));
const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
const box = (type: string, ...content: Uint8Array[]) => {
  const body = Buffer.concat(content);
  return join(words(body.byteLength + 8), ascii(type), body);
};
const zeros = (count: number) => new Uint8Array(count);

/** Boxes of version 0, with the given size and duration. */
const tkhd = (width: number, height: number) => box("tkhd", zeros(76), words(width * 65536, height * 65536));
const handler = (type: string) => box("mdia", box("hdlr", zeros(8), ascii(type), zeros(12)));
const mvhd = (scale: number, units: number) => box("mvhd", zeros(12), words(scale, units), zeros(80));
const track = (type: string, width: number, height: number) => box("trak", tkhd(width, height), handler(type));
const ftyp = box("ftyp", ascii("isom"), zeros(4));
const mdat = box("mdat", zeros(1000));
const moov = box("moov", mvhd(1000, 5000), track("soun", 0, 0), track("vide", 1280, 720));

const facts = { width: 1280, height: 720, durationSeconds: 5 };

test.each<[string, Uint8Array, hasAudio?: boolean]>([
  ["moov before mdat", join(ftyp, moov, mdat)],
  ["moov after mdat", join(ftyp, mdat, moov)],
  ["a 64-bit mdat", join(ftyp, words(1), ascii("mdat"), words(0, 116), zeros(100), moov)],
  ["an mdat that goes on to the end", join(ftyp, moov, words(0), ascii("mdat"), zeros(500))],
  ["unknown boxes", join(ftyp, box("free", zeros(9)), moov, box("abcd"), mdat)],
  [
    "times of version 1",
    join(
      ftyp,
      box(
        "moov",
        box("mvhd", words(0x01000000), zeros(16), words(1000, 0, 5000), zeros(80)),
        box("trak", box("tkhd", words(0x01000000), zeros(84), words(1280 * 65536, 720 * 65536)), handler("vide")),
      ),
      mdat,
    ),
    false,
  ],
  [
    "fragments, whose duration stands in mehd",
    join(
      ftyp,
      box("moov", mvhd(1000, 0), track("vide", 1280, 720), box("mvex", box("mehd", zeros(4), words(5000)))),
      box("moof"),
      mdat,
    ),
    false,
  ],
])("a video with %s → its size and duration, and whether it has sound", (_name, bytes, hasAudio = true) => {
  for (const chunkBytes of [undefined, 1, 3, 100]) {
    expect(read("video/mp4", bytes, chunkBytes)).toEqual({ ...facts, hasAudio });
  }
});

test.each([
  ["moov before mdat, cut off before its content", join(ftyp, moov, mdat), ftyp.byteLength + moov.byteLength + 8],
  ["moov after mdat, cut off anywhere", join(ftyp, mdat, moov), Number.POSITIVE_INFINITY],
])("a video with %s → unusable; later → what is known of it, with a note", (_name, bytes, playsFrom) => {
  for (let count = 0; count < bytes.byteLength; count++) {
    const cut = bytes.subarray(0, count);
    if (count < playsFrom) expect(() => read("video/mp4", cut)).toThrow(UnusableMedia);
    else expect(read("video/mp4", cut)).toEqual({ ...facts, hasAudio: true, note: "cut_off" });
  }
});

test.each<[string, Uint8Array]>([
  ["no moov", join(ftyp, mdat)],
  ["no mdat", join(ftyp, moov)],
  ["a track without a handler", join(ftyp, box("moov", mvhd(1000, 5000), box("trak", tkhd(1280, 720))), mdat)],
  ["an inner box larger than the outer", join(ftyp, box("moov", words(5000), ascii("mvhd")), mdat)],
  ["a box smaller than its header", join(ftyp, words(4), ascii("moov"), mdat)],
  ["a moov that claims to be larger than any", join(ftyp, words(0x7fffffff), ascii("moov"), zeros(100))],
])("a video with %s → unusable", (_name, bytes) => {
  expect(() => read("video/mp4", bytes)).toThrow(UnusableMedia);
});

const noSides = { width: null, height: null };
const noLength = { durationSeconds: null, hasAudio: false, note: "odd_duration" };
test.each<[string, Uint8Array[], Partial<MediaFacts>]>([
  ["sound alone", [mvhd(1000, 5000), track("soun", 0, 0)], { ...noSides, note: "no_sides" }],
  ["no width", [mvhd(1000, 5000), track("vide", 0, 720)], { ...noSides, hasAudio: false, note: "no_sides" }],
  ["no duration", [mvhd(1000, 0), track("vide", 1280, 720)], noLength],
  ["an unknown duration", [mvhd(1000, 0xffffffff), track("vide", 1280, 720)], noLength],
  ["a duration in a time scale of zero", [mvhd(0, 5000), track("vide", 1280, 720)], noLength],
  ["no length in a header that is cut off", [box("mvhd", zeros(10)), track("vide", 1280, 720)], noLength],
])("a video with %s → stored without it, with a note", (_name, boxes, found) => {
  const bytes = join(ftyp, box("moov", ...boxes), mdat);
  expect(read("video/mp4", bytes)).toEqual({ ...facts, hasAudio: true, ...found });
});

/** What players do not mind. */
test.each<[string, Uint8Array, note: string]>([
  ["the beginning of one more box", join(ftyp, moov, mdat, zeros(7)), "bytes_after_end"],
  ["letters behind its last box", join(ftyp, moov, mdat, ascii("ABCDEFGHIJKLMNOP")), "bytes_after_end"],
  ["zeros and letters behind its last box", join(ftyp, mdat, moov, words(3), ascii("ABCDEFGH")), "bytes_after_end"],
  ["two moov", join(ftyp, moov, moov, mdat), "two_headers"],
])("a video with %s → read, with a note", (_name, bytes, note) => {
  for (const chunkBytes of [undefined, 1, 100])
    expect(read("video/mp4", bytes, chunkBytes)).toEqual({ ...facts, hasAudio: true, note });
});

/** What another reader finds. Fragments are as long as their pictures; it reads none behind a moov that has samples. */
async function readByLibrary(bytes: Uint8Array<ArrayBuffer>, isFragmented: boolean) {
  const input = new media.Input({ source: new media.BufferSource(bytes), formats: media.ALL_FORMATS });
  const track = await input.getPrimaryVideoTrack();
  if (!track) throw new Error("There is no picture.");
  const pictures = (await track.computeDuration()) - (await track.getFirstTimestamp());
  return {
    width: await track.getDisplayWidth(),
    height: await track.getDisplayHeight(),
    // mvhd counts in milliseconds; a WebM's length counts what is cut off at the beginning of Opus.
    durationSeconds: expect.closeTo(
      isFragmented ? pictures : await input.computeDuration(),
      (await input.getFormat()) === media.WEBM ? 1 : 2,
    ),
    hasAudio: (await input.getPrimaryAudioTrack()) !== null,
  };
}

/** Where mediabunny does not see the end: fragments behind pictures, and a last picture without a length. */
const LONGER: Record<string, number> = {
  "fragments-after-movie.mp4": 3,
  "two-a-second.webm": 2,
  "one-picture.webm": 0.5,
  "one-picture-sound.webm": 0.5,
};

test.each(CLIPS)(
  "%s → its type, sides as shown, duration and sound as mediabunny finds them, however it is cut",
  async (name) => {
    const bytes = readClip(name);
    const type = detectMedia(bytes) as MediaType;
    const ending = name.split(".").at(-1);
    expect(type).toBe(ending === "webm" ? "video/webm" : ending === "mkv" ? "video/x-matroska" : "video/mp4");
    // mediabunny reads no file without a brand.
    const found = await readByLibrary(
      name === "no-brand.mov" ? readClip("quicktime.mov") : bytes,
      name.startsWith("fragments"),
    );
    const durationSeconds = LONGER[name] ?? found.durationSeconds;
    for (const chunkBytes of [undefined, 1, 1000])
      expect(read(type, bytes, chunkBytes)).toEqual({ ...found, durationSeconds });
  },
);

test.each([
  ["plain.mp4", { width: 180, height: 320 }],
  ["turned.mp4", { width: 320, height: 180 }],
])("%s that the header of its movie turns by a quarter more → its sides as players show them", async (name, sides) => {
  const quarter = [...u32(0), ...u32(0x10000), ...u32(0), ...u32(0xffff0000)];
  const bytes = patched(readClip(name), "mvhd", 40, quarter);
  expect(await readByLibrary(bytes, false)).toMatchObject(sides);
  expect(read("video/mp4", bytes)).toMatchObject(sides);
});

test.each(["wide", "free", "skip"])("a QuickTime file that begins with a box %s → as one with a brand", (type) => {
  const bytes = patched(readClip("quicktime.mov"), "ftyp", 0, text(type));
  expect(detectMedia(bytes)).toBe("video/mp4");
  expect(read("video/mp4", bytes)).toEqual(read("video/mp4", readClip("quicktime.mov")));
});

const vp9 = readClip("vp9-opus.webm");
const tracksAt = Buffer.from(vp9).indexOf("\x16\x54\xae\x6b\x40", "latin1");
const LENGTH = "\x44\x89\x88"; // and eight bytes
const double = (value: number) => [...new Uint8Array(new Float64Array([value]).buffer)].reverse();
const WEBM = { width: 320, height: 180, durationSeconds: expect.closeTo(3, 2), hasAudio: true };

test("a WebM as a recorder writes it, without its length → as long as its pictures", () => {
  for (const chunkBytes of [undefined, 1, 1000]) expect(read("video/webm", recorded(vp9), chunkBytes)).toEqual(WEBM);
});

test("a WebM that is cut off before its tracks → unusable; later → what is known of it, with a note", () => {
  for (let count = 0; count < vp9.byteLength; count += 41) {
    const cut = vp9.subarray(0, count);
    if (count < tracksAt) expect(() => read("video/webm", cut)).toThrow(UnusableMedia);
    else if (count > tracksAt + 500) expect(read("video/webm", cut)).toMatchObject({ width: 320, note: "cut_off" });
  }
  expect(read("video/webm", recorded(vp9).subarray(0, -1))).toMatchObject({ width: 320, note: "cut_off" });
});

test("a WebM of empty elements without end → only the first 300,000 are read", () => {
  const empty = new Uint8Array(600_002).fill(0x80).map((byte, at) => (at % 2 ? byte : 0xec));
  const note = "too_many_elements";
  expect(read("video/webm", join(recorded(vp9), empty))).toEqual({ ...WEBM, durationSeconds: null, note });
});

test("a WebM with letters behind its end → read, with a note", () => {
  const note = "bytes_after_end";
  for (const bytes of [vp9, recorded(vp9)])
    expect(read("video/webm", join(bytes, zeros(20)))).toMatchObject({ width: 320, hasAudio: true, note });
});

test.each<[string, Uint8Array]>([
  ["headers that claim to be larger than any", patched(vp9, "\x16\x54\xae\x6b\x40", 4, [0x1f, 0xff])],
  ["an element whose name is broken", patched(vp9, "\x15\x49\xa9\x66\xb2", 0, [0])],
])("a WebM with %s → unusable", (_name, bytes) => {
  expect(() => read("video/webm", bytes)).toThrow(UnusableMedia);
});

test.each<[string, Uint8Array]>([
  ["sound alone", patched(vp9, "\x83\x81\x01", 2, [2])],
  ["no width", patched(vp9, "\xb0\x82\x01\x40", 2, [0, 0])],
])("a WebM with %s → stored without its sides, with a note", (_name, bytes) => {
  expect(read("video/webm", bytes)).toEqual({
    ...WEBM,
    ...noSides,
    durationSeconds: expect.closeTo(3, 1),
    note: "no_sides",
  });
});

test("a WebM whose tracks take more than a megabyte → nothing is known of it, with a note", () => {
  const megabytes = new Uint8Array([0x16, 0x54, 0xae, 0x6b, 0x10, 0x20, 0, 0, ...zeros(2 * 1024 * 1024)]);
  const bytes = join(recorded(vp9).subarray(0, tracksAt), megabytes);
  const note = "header_too_large";
  expect(read("video/webm", bytes)).toEqual({ ...noSides, durationSeconds: null, hasAudio: null, note });
});

test.each([...ODD_IMAGES, ...ODD_VIDEOS])("%s → as a browser shows it, however it is cut", (_what, bytes, shown) => {
  const type = detectMedia(bytes);
  if (shown === "unusable") {
    if (type !== null) expect(() => read(type, bytes)).toThrow(UnusableMedia);
    return;
  }
  const [width, height, seconds, hasAudio] = shown;
  const more = seconds === undefined ? {} : { durationSeconds: expect.closeTo(seconds, 1) };
  for (const chunkBytes of [1, 100, bytes.length])
    expect(read(type as MediaType, bytes, chunkBytes)).toMatchObject({
      ...{ width, height, ...more },
      ...(hasAudio !== undefined && { hasAudio }),
    });
});

describe("a video that says it lasts a week", () => {
  const note = "odd_duration";
  const week = 7 * 24 * 3600 * 1000;

  test("its pictures last 3 s → 3 s, with a note", () => {
    const mp4 = patched(readClip("plain.mp4"), "mvhd", 20, u32(week));
    expect(read("video/mp4", mp4)).toEqual({ width: 320, height: 180, durationSeconds: 3, hasAudio: true, note });
    const webm = patched(vp9, LENGTH, 3, double(week));
    expect(read("video/webm", webm)).toEqual({ ...WEBM, note });
  });

  test("and so do its pictures → no duration, with a note", () => {
    const mp4 = patched(readClip("plain.mp4"), "mvhd", 20, u32(week));
    const slow = patched(patched(mp4, "mdhd", 16, u32(1)), "stts", 12, u32(1_000_000)); // a million pictures, units of a second
    for (const track of placesOf(slow, "tkhd")) slow.set(u32(0), track + 24);
    expect(read("video/mp4", slow)).toEqual({ width: 320, height: 180, durationSeconds: null, hasAudio: true, note });
  });
});

test("a WebM whose length is no number, or negative → as long as its pictures", () => {
  for (const length of [Number.NaN, Number.POSITIVE_INFINITY, -5]) {
    const webm = patched(vp9, LENGTH, 3, double(length));
    expect(read("video/webm", webm).durationSeconds).toBeCloseTo(3, 2);
  }
});

test("a video of 3 s whose header knows no length, or in fragments that begin days later, as a part of a long one → 3 s", () => {
  const plain = readClip("plain.mp4");
  expect(read("video/mp4", patched(plain, "mvhd", 20, [0, 0, 0, 0])).durationSeconds).toBe(3);
  const fragments = readClip("fragments.mp4");
  fragments.forEach((_, at) => {
    if (String.fromCharCode(...fragments.subarray(at, at + 4)) === "tfdt") fragments[at + 11] = 1; // of the upper half of 64 bits
  });
  expect(read("video/mp4", fragments).durationSeconds).toBeCloseTo(3, 2);
});

test("pixels that are wider or taller than a video can be → counted as square: its sides fit into a row", () => {
  for (const [across, down] of [
    [0xffffffff, 1],
    [1, 0xffffffff],
  ] as const) {
    const odd = patched(readClip("plain.mp4"), "pasp", 4, [...u32(across), ...u32(down)]);
    expect(read("video/mp4", odd)).toMatchObject({ width: 320, height: 180 });
  }
});

describe("an MP4 of boxes without end → only the first 100,000 are read; then what its header said, with a note", () => {
  const note = "too_many_boxes";
  const many = (one: Uint8Array, count: number) =>
    new Uint8Array(one.length * count).map((_, at) => one[at % one.length] ?? 0);
  const free = (count: number) => many(box("free"), count);

  test("as many as files have → all", () => {
    const header = box("moov", mvhd(1000, 5000), free(1000), track("vide", 1280, 720), track("soun", 0, 0));
    expect(read("video/mp4", join(ftyp, header, mdat))).toEqual({ ...facts, hasAudio: true });
  });

  test.each<[string, Uint8Array[], Partial<MediaFacts>]>([
    ["behind its header", [moov, mdat, free(100_000)], {}],
    ["before its header", [free(100_000), moov, mdat], { ...noSides, durationSeconds: null, hasAudio: null }],
    [
      "before the tracks in its header",
      [box("moov", mvhd(1000, 5000), free(100_000), track("vide", 1280, 720)), mdat],
      { ...noSides, hasAudio: null },
    ],
    ["in fragments", [moov, mdat, many(box("moof", many(box("traf"), 1000)), 100)], {}],
  ])("%s", (_name, boxes, found) => {
    expect(read("video/mp4", join(ftyp, ...boxes))).toEqual({ ...facts, hasAudio: true, ...found, note });
  });

  test("in a fragmented video without a length → none, as its pictures are not all counted", () => {
    const video = join(readClip("fragments.mp4"), free(100_000));
    expect(read("video/mp4", video)).toMatchObject({ width: 320, durationSeconds: null, note });
  });
});

test("an MP4 whose headers take more than a megabyte in all → those beyond are not kept, with a note", () => {
  const note = "header_too_large";
  const kilobytes = (type: string, count: number) => box(type, zeros(count * 1024));
  const unknown = { ...noSides, durationSeconds: null, hasAudio: null, note };
  expect(read("video/mp4", join(ftyp, kilobytes("moov", 1100), mdat), 65_536)).toEqual(unknown);
  const fragments = [1, 2, 3].map(() => kilobytes("moof", 400));
  expect(read("video/mp4", join(ftyp, moov, mdat, ...fragments), 65_536)).toEqual({ ...facts, hasAudio: true, note });
});

test("an AVIF whose size does not stand in its first 512 KiB → it is not looked for, with a note", () => {
  const brands = box("ftyp", ascii("avif"), zeros(1024 * 1024));
  const note = "header_too_large";
  expect(read("image/avif", join(brands, mdat))).toEqual({ ...noSides, durationSeconds: null, hasAudio: null, note });
});
