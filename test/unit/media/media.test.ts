import { Buffer } from "node:buffer";
import { createCanvas } from "@napi-rs/canvas";
import * as media from "mediabunny";
import { expect, test } from "vitest";
import { sniffImage } from "../../../shared/media/image-reader.ts";
import { detectMedia, type MediaType, UnusableMedia } from "../../../shared/media/media.ts";
import { createMediaReader } from "../../../supabase/functions/keyframe-generate/tasks/store.ts";
import { CLIPS, patched, placesOf, readClip, recorded } from "../../support/media/clips.ts";
import { bmpOf } from "../../support/media/images.ts";
import { ODD_IMAGES, ODD_VIDEOS } from "../../support/media/odd-files.ts";
import { drawPhoto, withLocation } from "../../support/media/photos.ts";

// Vectors: a file, and what is found in it. What another reader finds in a real film: test/e2e/film.

const u32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
const text = (words: string) => [...words].map((letter) => letter.charCodeAt(0));
const words = (...values: number[]) => new Uint8Array(values.flatMap(u32));
const ascii = (value: string) => new Uint8Array(text(value));
const zeros = (count: number) => new Uint8Array(count);
const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
const box = (type: string, ...content: Uint8Array[]) => {
  const body = Buffer.concat(content);
  return join(words(body.byteLength + 8), ascii(type), body);
};
const repeated = (one: Uint8Array, count: number) =>
  new Uint8Array(one.length * count).map((_, at) => one[at % one.length] ?? 0);
const changed = (bytes: Uint8Array, at: number, values: number[]) => {
  const copy = bytes.slice();
  copy.set(values, at);
  return copy;
};

function read(type: MediaType, bytes: Uint8Array, chunkBytes = bytes.byteLength) {
  const reader = createMediaReader(type);
  for (let at = 0; at < bytes.byteLength; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes));
  return reader.end();
}

type Found = object | null;

function expectFound(type: MediaType, bytes: Uint8Array, found: Found): void {
  for (const chunkBytes of bytes.length < 50_000 ? [1, 3, 100, bytes.length] : [4096, bytes.length]) {
    if (found === null) expect(() => read(type, bytes, chunkBytes)).toThrow(UnusableMedia);
    else expect(read(type, bytes, chunkBytes)).toEqual(found);
  }
}

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
const images: [MediaType, Uint8Array][] = [
  ...uploads,
  ["image/gif", new Uint8Array(canvas.encodeSync("gif"))],
  ["image/avif", new Uint8Array(canvas.encodeSync("avif"))],
  ["image/bmp", bmpOf(200, -100)],
];

const sides = (width: number | null, height: number | null, note?: string) => ({
  ...{ width, height, durationSeconds: null, hasAudio: null, note },
});
const sizedPng = (width: number, height: number) => changed(png, 16, [...u32(width), ...u32(height)]);
const noise = (bytes: Uint8Array) => changed(new Uint8Array(500).fill(7), 0, [...bytes.subarray(0, 12)]);
const exif = async (kind: "jpeg" | "png", turn: number) => withLocation(kind, await drawPhoto(kind), turn);
const megabytesOfSegments = repeated(join(Uint8Array.of(0xff, 0xe2, 60_002 >> 8, 60_002 & 255), zeros(60_000)), 50);
const manyEntries = box("meta", zeros(4), box("iprp", box("ipma", zeros(4), words(160_000), zeros(480_000))));

const IMAGES: [what: string, type: MediaType, bytes: Uint8Array, found: Found][] = [
  ...images.flatMap(([type, bytes]): typeof IMAGES => [
    ["whole", type, bytes, sides(200, 100)],
    ["cut off within its header", type, bytes.subarray(0, 14), null],
    ["noise after its signature", type, noise(bytes), null],
  ]),
  ...uploads
    .filter(([type]) => type !== "image/jpeg")
    .flatMap(([type, bytes]): typeof IMAGES => [
      ["cut off in its image data", type, bytes.subarray(0, -20), sides(200, 100, "odd_end")],
      ["a byte after its end", type, join(bytes, zeros(1)), sides(200, 100, "odd_end")],
      ["100 kB after its end", type, join(bytes, zeros(100_000)), sides(200, 100, "odd_end")],
    ]),
  ["cut off before its IDAT", "image/png", png.subarray(0, 33), null],
  ["larger than an upload may be", "image/png", sizedPng(20_000, 10_000), sides(20_000, 10_000)],
  ["larger than browsers show", "image/png", sizedPng(0xffffffff, 0xffffffff), null],
  ["Exif orientation 3", "image/png", await exif("png", 3), sides(48, 32, "odd_end")],
  ["Exif orientation 6", "image/png", await exif("png", 6), sides(32, 48, "odd_end")],
  ["Exif orientation 1", "image/jpeg", await exif("jpeg", 1), sides(48, 32)],
  ["Exif orientation 8", "image/jpeg", await exif("jpeg", 8), sides(32, 48)],
  ["3 MB of metadata", "image/jpeg", join(jpeg.subarray(0, 2), megabytesOfSegments, jpeg.subarray(2)), sides(200, 100)],
  ["160,000 entries in ipma", "image/avif", join(box("ftyp", ascii("avif"), zeros(4)), manyEntries), null],
  [
    "its meta after 512 KiB",
    "image/avif",
    join(box("ftyp", ascii("avif"), zeros(1024 * 1024)), box("mdat", zeros(1000))),
    sides(null, null, "header_too_large"),
  ],
];

/** Boxes of version 0, with the given size and duration. */
const tkhd = (width: number, height: number) => box("tkhd", zeros(76), words(width * 65536, height * 65536));
const mdia = (type: string) => box("mdia", box("hdlr", zeros(8), ascii(type), zeros(12)));
const mvhd = (scale: number, units: number) => box("mvhd", zeros(12), words(scale, units), zeros(80));
const trakOf = (type: string, width: number, height: number) => box("trak", tkhd(width, height), mdia(type));
const ftyp = box("ftyp", ascii("isom"), zeros(4));
const mdat = box("mdat", zeros(1000));
const [videoTrak, audioTrak] = [trakOf("vide", 1280, 720), trakOf("soun", 0, 0)];
const moov = box("moov", mvhd(1000, 5000), audioTrak, videoTrak);
const free = (count: number) => repeated(box("free"), count);
const kilobytes = (type: string, count: number) => box(type, zeros(count * 1024));

const film = (more: object = {}) => ({ width: 1280, height: 720, durationSeconds: 5, hasAudio: true, ...more });
const silent = film({ hasAudio: false });
const noSides = { width: null, height: null };
const unknown = { ...noSides, durationSeconds: null, hasAudio: null };
const noLength = { durationSeconds: null, hasAudio: false, note: "odd_duration" };
const clip = (more: object = {}) => ({ width: 320, height: 180, durationSeconds: 3, hasAudio: true, ...more });
const plain = readClip("plain.mp4");
const week = 7 * 24 * 3600 * 1000;
const weekLong = patched(plain, "mvhd", 20, u32(week));
/** A million samples, with a timescale of 1 per second. */
const slow = patched(patched(weekLong, "mdhd", 16, u32(1)), "stts", 12, u32(1_000_000));
for (const place of placesOf(slow, "tkhd")) slow.set(u32(0), place + 24);
/** Fragments whose baseMediaDecodeTime is days later, as in a part of a long video: in the upper half of its 64 bits. */
const late = readClip("fragments.mp4");
for (const place of placesOf(late, "tfdt")) late[place + 11] = 1;
const longHeader = [mvhd(1000, 5000), free(1000), videoTrak, audioTrak];
const version1 = [
  box("mvhd", words(0x01000000), zeros(16), words(1000, 0, 5000), zeros(80)),
  box("trak", box("tkhd", words(0x01000000), zeros(84), words(1280 * 65536, 720 * 65536)), mdia("vide")),
];

const MP4: [what: string, boxes: Uint8Array[], found: Found][] = [
  ["moov before mdat", [ftyp, moov, mdat], film()],
  ["moov after mdat", [ftyp, mdat, moov], film()],
  ["a 64-bit mdat", [ftyp, words(1), ascii("mdat"), words(0, 116), zeros(100), moov], film()],
  ["an mdat of size 0, up to the end of the file", [ftyp, moov, words(0), ascii("mdat"), zeros(500)], film()],
  ["unknown boxes", [ftyp, box("free", zeros(9)), moov, box("abcd"), mdat], film()],
  ["mvhd and tkhd of version 1", [ftyp, box("moov", ...version1), mdat], silent],
  [
    "fragments with a duration in mehd",
    [ftyp, box("moov", mvhd(1000, 0), videoTrak, box("mvex", box("mehd", zeros(4), words(5000)))), box("moof"), mdat],
    silent,
  ],
  ["no moov", [ftyp, mdat], null],
  ["no mdat", [ftyp, moov], null],
  ["a trak without hdlr", [ftyp, box("moov", mvhd(1000, 5000), box("trak", tkhd(1280, 720))), mdat], null],
  ["a box larger than its container", [ftyp, box("moov", words(5000), ascii("mvhd")), mdat], null],
  ["a box smaller than its header", [ftyp, words(4), ascii("moov"), mdat], null],
  ["a moov of 2 GiB that is cut off", [ftyp, words(0x7fffffff), ascii("moov"), zeros(100)], null],
  [
    "only an audio track",
    [ftyp, box("moov", mvhd(1000, 5000), audioTrak), mdat],
    film({ ...noSides, note: "no_sides" }),
  ],
  [
    "no width",
    [ftyp, box("moov", mvhd(1000, 5000), trakOf("vide", 0, 720)), mdat],
    film({ ...noSides, hasAudio: false, note: "no_sides" }),
  ],
  ["no duration", [ftyp, box("moov", mvhd(1000, 0), videoTrak), mdat], film(noLength)],
  ["an unknown duration", [ftyp, box("moov", mvhd(1000, 0xffffffff), videoTrak), mdat], film(noLength)],
  ["a timescale of 0", [ftyp, box("moov", mvhd(0, 5000), videoTrak), mdat], film(noLength)],
  ["an mvhd that is too short", [ftyp, box("moov", box("mvhd", zeros(10)), videoTrak), mdat], film(noLength)],
  // What players accept.
  ["the beginning of one more box", [ftyp, moov, mdat, zeros(7)], film({ note: "bytes_after_end" })],
  ["letters after its last box", [ftyp, moov, mdat, ascii("ABCDEFGHIJKLMNOP")], film({ note: "bytes_after_end" })],
  [
    "zeros and letters after its last box",
    [ftyp, mdat, moov, words(3), ascii("ABCDEFGH")],
    film({ note: "bytes_after_end" }),
  ],
  ["two moov boxes", [ftyp, moov, moov, mdat], film({ note: "two_headers" })],
  ["a week in mvhd, 3 s of samples", [weekLong], clip({ note: "odd_duration" })],
  ["a week in mvhd and in stts", [slow], clip({ durationSeconds: null, note: "odd_duration" })],
  ["no duration in mvhd, 3 s of samples", [patched(plain, "mvhd", 20, u32(0))], clip()],
  ["fragments whose tfdt is days later", [late], clip({ durationSeconds: expect.closeTo(3, 2) })],
  ["a pasp too wide for any video", [patched(plain, "pasp", 4, [...u32(0xffffffff), ...u32(1)])], clip()],
  ["a pasp too tall for any video", [patched(plain, "pasp", 4, [...u32(1), ...u32(0xffffffff)])], clip()],
  // At most 100,000 boxes are read, and a megabyte of moov and moof.
  ["as many boxes as files have", [ftyp, box("moov", ...longHeader), mdat], film()],
  ["100,000 boxes after its moov", [ftyp, moov, mdat, free(100_000)], film({ note: "too_many_boxes" })],
  ["100,000 boxes before its moov", [ftyp, free(100_000), moov, mdat], { ...unknown, note: "too_many_boxes" }],
  [
    "100,000 boxes before its trak",
    [ftyp, box("moov", mvhd(1000, 5000), free(100_000), videoTrak), mdat],
    film({ ...noSides, hasAudio: null, note: "too_many_boxes" }),
  ],
  [
    "100,000 boxes in its moof boxes",
    [ftyp, moov, mdat, repeated(box("moof", repeated(box("traf"), 1000)), 100)],
    film({ note: "too_many_boxes" }),
  ],
  [
    "100,000 boxes in a fragmented video, whose samples are then not all counted",
    [readClip("fragments.mp4"), free(100_000)],
    clip({ durationSeconds: null, note: "too_many_boxes" }),
  ],
  ["a moov of 1.1 MB", [ftyp, kilobytes("moov", 1100), mdat], { ...unknown, note: "header_too_large" }],
  [
    "moof boxes of 1.2 MB in total",
    [ftyp, moov, mdat, ...[1, 2, 3].map(() => kilobytes("moof", 400))],
    film({ note: "header_too_large" }),
  ],
];

const vp9 = readClip("vp9-opus.webm");
const tracksAt = Buffer.from(vp9).indexOf("\x16\x54\xae\x6b\x40", "latin1");
const double = (value: number) => [...new Uint8Array(new Float64Array([value]).buffer)].reverse();
const withLength = (value: number) => patched(vp9, "\x44\x89\x88", 3, double(value));
const opus = (more: object = {}) => clip({ durationSeconds: expect.closeTo(3, 1), ...more });
const megabytesOfTracks = join(Uint8Array.of(0x16, 0x54, 0xae, 0x6b, 0x10, 0x20, 0, 0), zeros(2 * 1024 * 1024));

const WEBM: [what: string, bytes: Uint8Array, found: Found][] = [
  ["no Duration and an unknown Segment size, as a recorder writes it", recorded(vp9), opus()],
  ["no Duration, and cut off in its last block", recorded(vp9).subarray(0, -1), opus({ note: "cut_off" })],
  ["zeros after its Segment", join(vp9, zeros(20)), opus({ note: "bytes_after_end" })],
  [
    "an unknown Segment size, and zeros after its end",
    join(recorded(vp9), zeros(20)),
    opus({ note: "bytes_after_end" }),
  ],
  ["Tracks larger than the rest of the file", patched(vp9, "\x16\x54\xae\x6b\x40", 4, [0x1f, 0xff]), null],
  ["an invalid Element ID", patched(vp9, "\x15\x49\xa9\x66\xb2", 0, [0]), null],
  ["only an audio track", patched(vp9, "\x83\x81\x01", 2, [2]), opus({ ...noSides, note: "no_sides" })],
  ["no width", patched(vp9, "\xb0\x82\x01\x40", 2, [0, 0]), opus({ ...noSides, note: "no_sides" })],
  ["a Duration of a week, and 3 s of blocks", withLength(week), opus({ note: "odd_duration" })],
  ["a Duration of NaN", withLength(Number.NaN), opus()],
  ["a Duration of Infinity", withLength(Number.POSITIVE_INFINITY), opus({ note: "odd_duration" })],
  ["a negative Duration", withLength(-5), opus()],
  [
    "300,000 empty elements: no more are read",
    join(recorded(vp9), repeated(Uint8Array.of(0xec, 0x80), 300_001)),
    opus({ durationSeconds: null, note: "too_many_elements" }),
  ],
  [
    "Tracks of more than a megabyte",
    join(recorded(vp9).subarray(0, tracksAt), megabytesOfTracks),
    { ...unknown, note: "header_too_large" },
  ],
];

test.each([
  ...IMAGES,
  ...MP4.map(([what, boxes, found]) => [what, "video/mp4" as const, join(...boxes), found] as const),
  ...WEBM.map(([what, bytes, found]) => [what, "video/webm" as const, bytes, found] as const),
])("%s (%s) → its facts or unusable, in chunks of any size", (_what, type, bytes, found) =>
  expectFound(type, bytes, found),
);

test.each(images)("a %s → detected, and one that may be uploaded is sniffed in a larger buffer", (type, bytes) => {
  expect(detectMedia(bytes)).toBe(type);
  const isUploaded = uploads.some(([kind]) => kind === type);
  const found = isUploaded ? { contentType: type, width: 200, height: 100 } : null;
  expect(sniffImage(join(zeros(7), bytes).subarray(7))).toEqual(found);
});

const riff = (chunk: string, data: number[]) => {
  const content = [...text("WEBP"), ...text(chunk), data.length, 0, 0, 0, ...data];
  return new Uint8Array([...text("RIFF"), content.length, 0, 0, 0, ...content]);
};
const jpegOf = (...bytes: number[]) => new Uint8Array([0xff, 0xd8, 0xff, ...bytes]);
/** https://iphonedev.wiki/CgBI_file_format */
const cgbi = new Uint8Array([0, 0, 0, 4, ...text("CgBI"), 0x50, 0, 0x20, 2, 0, 0, 0, 0]);
const beforeFrame = [0xe1, 0, 4, 1, 2, 0xff, 0xc4, 0, 3, 9, 0xff, 0xff, 0xfe, 0, 2]; // with a table, a comment and fill bytes
const frame = [0xff, 0xc2, 0, 11, 8, 1, 0x68, 2, 0x80, 1, 1, 0x11, 0];
const small = (kind: string) => ({ contentType: `image/${kind}`, width: 640, height: 360 });
const sized = (width: number, height: number, isTaken = false): [string, Uint8Array, object | null] => {
  const found = { contentType: "image/png", width, height };
  return [`a PNG of ${width} × ${height}`, sizedPng(width, height), isTaken ? found : null];
};

// Images whose segments or chunks do not match their lengths: strip-metadata.test.ts.
test.each<[what: string, bytes: Uint8Array, found: object | null]>([
  ["a lossy WebP", riff("VP8 ", [0x50, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x42, 0x68, 0x81]), small("webp")],
  ["a lossless WebP", riff("VP8L", [0x2f, 0x7f, 0xc2, 0x59, 0x00]), small("webp")],
  ["an extended WebP", riff("VP8X", [0, 0, 0, 0, 0x7f, 0x02, 0x00, 0x67, 0x01, 0x00]), small("webp")],
  ["a WebP with an unknown first chunk", riff("VP9 ", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), null],
  ["RIFF of audio", new Uint8Array([...text("RIFF"), 4, 0, 0, 0, ...text("WAVE")]), null],
  ["a JPEG with other segments before its SOF", jpegOf(...beforeFrame, ...frame), small("jpeg")],
  ["a JPEG without SOF", jpegOf(0xd9), null],
  ["a JPEG with SOS before SOF", jpegOf(0xda, 0, 2, 0xff, 0xc0, 0, 11, 8, 0, 9, 0, 9), null],
  ["a JPEG cut off before its SOF", jpeg.slice(0, 20), null],
  ["a JPEG of height 0", jpegOf(0xc0, 0, 11, 8, 0, 0, 2, 0x80, 1, 1, 0x11, 0), null],
  ["nothing", new Uint8Array(), null],
  ["a PNG whose first chunk is not IHDR", changed(png, 12, text("IDAT")), null],
  ["a PNG for iOS, which other decoders cannot read", join(png.slice(0, 8), cgbi, png.slice(8)), null],
  ...[sized(16_384, 1, true), sized(1, 16_384, true), sized(10_000, 10_000, true), sized(16_385, 1)],
  ...[sized(1, 16_385), sized(10_001, 10_000), sized(0, 5), sized(5, 0), sized(0xffffffff, 0xffffffff)],
])("%s as an upload → its type and size, or refused", (_what, bytes, found) => {
  expect(sniffImage(bytes)).toEqual(found);
});

test.each([
  ["MP4, moov first", "video/mp4", join(ftyp, moov, mdat), ftyp.length + moov.length + 7, 0, film()],
  ["MP4, moov last", "video/mp4", join(ftyp, mdat, moov), Number.POSITIVE_INFINITY, 0, film()],
  ["WebM", "video/webm", vp9, tracksAt - 1, 500, { width: 320 }],
] as const)("%s (%s), truncated before its content → unusable; later → what is known, with a note", (...vector) => {
  const [, type, bytes, unusableUntil, maybe, found] = vector;
  const step = type === "video/webm" ? 41 : 1;
  for (let count = bytes.length - 1; count >= 0; count -= step) {
    const cut = bytes.subarray(0, count);
    if (count <= unusableUntil) expect(() => read(type, cut)).toThrow(UnusableMedia);
    else if (count > unusableUntil + maybe) expect(read(type, cut)).toMatchObject({ ...found, note: "cut_off" });
  }
});

/** What another reader finds. Fragments are as long as their video samples; it reads none after a moov that has samples. */
async function readByLibrary(bytes: Uint8Array<ArrayBuffer>, isFragmented: boolean) {
  const input = new media.Input({ source: new media.BufferSource(bytes), formats: media.ALL_FORMATS });
  const track = await input.getPrimaryVideoTrack();
  if (!track) throw new Error("There is no video track.");
  const seconds = (await track.computeDuration()) - (await track.getFirstTimestamp());
  return {
    width: await track.getDisplayWidth(),
    height: await track.getDisplayHeight(),
    // mvhd counts in milliseconds; the Duration of a WebM includes the CodecDelay of Opus.
    durationSeconds: expect.closeTo(
      isFragmented ? seconds : await input.computeDuration(),
      (await input.getFormat()) === media.WEBM ? 1 : 2,
    ),
    hasAudio: (await input.getPrimaryAudioTrack()) !== null,
  };
}

/** Where mediabunny does not find the end: fragments after a moov that has samples, and a last block without a duration. */
const LONGER: Record<string, number> = {
  "fragments-after-movie.mp4": 3,
  "two-a-second.webm": 2,
  "one-picture.webm": 0.5,
  "one-picture-sound.webm": 0.5,
};
const TYPES: Record<string, MediaType> = { webm: "video/webm", mkv: "video/x-matroska" };

test.each(CLIPS)("%s → its type, and what mediabunny finds in it, in chunks of any size", async (name) => {
  const bytes = readClip(name);
  const type = detectMedia(bytes) as MediaType;
  expect(type).toBe(TYPES[name.split(".").at(-1) ?? ""] ?? "video/mp4");
  // mediabunny reads no file without a brand.
  const known = name === "no-brand.mov" ? readClip("quicktime.mov") : bytes;
  const found = await readByLibrary(known, name.startsWith("fragments"));
  expectFound(type, bytes, { ...found, durationSeconds: LONGER[name] ?? found.durationSeconds });
});

test.each([
  ["plain.mp4", { width: 180, height: 320 }],
  ["turned.mp4", { width: 320, height: 180 }],
])("%s with an mvhd matrix that rotates by 90° → its width and height as players show them", async (name, shown) => {
  const bytes = patched(readClip(name), "mvhd", 40, [...u32(0), ...u32(0x10000), ...u32(0), ...u32(0xffff0000)]);
  expect(await readByLibrary(bytes, false)).toMatchObject(shown);
  expect(read("video/mp4", bytes)).toMatchObject(shown);
});

test.each(["wide", "free", "skip"])(
  "a QuickTime file that begins with a box %s → read like one with a brand",
  (type) => {
    const bytes = patched(readClip("quicktime.mov"), "ftyp", 0, text(type));
    expect(detectMedia(bytes)).toBe("video/mp4");
    expect(read("video/mp4", bytes)).toEqual(read("video/mp4", readClip("quicktime.mov")));
  },
);

test.each([...ODD_IMAGES, ...ODD_VIDEOS])(
  "%s → as a browser shows it, in chunks of any size",
  (_what, bytes, shown) => {
    const type = detectMedia(bytes);
    if (shown === "unusable") return void (type === null || expectFound(type, bytes, null));
    const [width, height, seconds, hasAudio] = shown;
    const more = seconds === undefined ? {} : { durationSeconds: expect.closeTo(seconds, 1) };
    const found = { width, height, ...more, ...(hasAudio !== undefined && { hasAudio }) };
    for (const chunkBytes of [1, 100, bytes.length])
      expect(read(type as MediaType, bytes, chunkBytes)).toMatchObject(found);
  },
);
