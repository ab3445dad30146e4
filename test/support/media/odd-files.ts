import { createCanvas } from "@napi-rs/canvas";
import { Buffer } from "node:buffer";
import * as media from "mediabunny";
import { patched, placesOf, readClip } from "./clips.ts";

// What the formats allow and few files have, each with the size that Chromium shows: Matroska's display elements, an MP4's tracks and pixel
// aspect ratios, BMP's DIB headers, a GIF's logical screens and an AVIF's items and item properties.

type Bytes = Uint8Array<ArrayBuffer>;
/** `width`, `height`, and of a video its seconds and whether it has sound; "unusable": browsers show nothing. */
type Shown = readonly [width: number, height: number, seconds?: number, hasAudio?: boolean] | "unusable";

const join = (...parts: (Uint8Array | number[])[]): Bytes =>
  new Uint8Array(Buffer.concat(parts.map((one) => Buffer.from(one))));
const letters = (text: string) => [...text].map((one) => one.charCodeAt(0));
const u16 = (value: number) => [value >> 8, value & 255];
const u32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
const littleEndian = (value: number) => [value & 255, value >> 8];
const box = (type: string, ...content: (Uint8Array | number[])[]): Bytes => {
  const body = join(...content);
  return join(u32(body.length + 8), letters(type), body);
};

/** 4 × 3, with a DIB header of this size. */
function bmp(headerBytes: number): Bytes {
  const bytes = new Uint8Array(14 + headerBytes + 12 * 3);
  const view = new DataView(bytes.buffer);
  bytes.set(letters("BM"));
  for (const [at, value] of [bytes.length, 0, 14 + headerBytes, headerBytes].entries())
    view.setUint32(2 + 4 * at, value, true);
  const sides = headerBytes === 12 ? [4, 3] : [4, 0, 3, 0];
  for (const [at, value] of [...sides, 1, 24].entries()) view.setUint16(18 + 2 * at, value, true);
  return bytes;
}

/** Each image is dark and not compressed: a clear code before each color index. */
function gif(screen: [number, number], ...images: [left: number, top: number, width: number, height: number][]): Bytes {
  const pixels = ([, , width, height]: number[]) => {
    const codes = [...Array.from({ length: (width ?? 0) * (height ?? 0) }, () => [4, 1]).flat(), 5];
    const bits = codes.map((code) => code.toString(2).padStart(3, "0")).reduce((all, code) => code + all, "");
    const bytes = Array.from({ length: Math.ceil(bits.length / 8) }, (_, at) =>
      Number.parseInt(bits.slice(Math.max(0, bits.length - 8 * (at + 1)), bits.length - 8 * at), 2),
    );
    const blocks = Array.from({ length: Math.ceil(bytes.length / 255) }, (_, at) =>
      bytes.slice(255 * at, 255 * (at + 1)),
    );
    return [2, ...blocks.flatMap((block) => [block.length, ...block]), 0];
  };
  return join(
    letters("GIF89a"),
    [...screen.flatMap(littleEndian), 0x80, 0, 0, 0, 0, 0, 255, 255, 255],
    [0x21, 0xfe, 2, ...letters("of"), 3, ...letters("two"), 0], // a Comment Extension in two data sub-blocks
    ...images.map((one) => [0x21, 0xf9, 4, 0, 10, 0, 0, 0, 0x2c, ...one.flatMap(littleEndian), 0, ...pixels(one)]),
    [0x3b],
  );
}

const canvas = createCanvas(200, 100);
canvas.getContext("2d").fillRect(10, 10, 50, 50);
const avifOfCanvas = new Uint8Array(canvas.encodeSync("avif"));
/** The data of its first item, the color image. */
const coded = avifOfCanvas.subarray((placesOf(avifOfCanvas, "mdat")[0] ?? 0) + 4).subarray(0, 0x1c);

type Item = { type: string; data: Uint8Array; properties: Uint8Array[] };
const ispe = (width: number, height: number) => box("ispe", u32(0), u32(width), u32(height));
const irot = (quarters: number) => box("irot", [quarters]);
/** In the upper left corner of 200 × 100 by default; horizOff and vertOff of 0 mean the center. */
const clap = (width: number, height: number, [right, down] = [(width - 200) / 2, (height - 100) / 2]) =>
  box("clap", ...[width, height, right ?? 0, down ?? 0].map((one) => [...u32(one), ...u32(1)]));
const av01 = (...properties: Uint8Array[]): Item => ({
  type: "av01",
  data: coded,
  properties: [ispe(200, 100), box("pixi", u32(0), [3, 8, 8, 8]), box("av1C", [0x81, 0x20, 0, 0]), ...properties],
});
/** An image of items; the first is the one that is shown, and refers to the others. */
function avif(items: Item[], reference = "dimg", isLong = false): Bytes {
  const numbered = items.map((item, at) => ({ ...item, id: at + 1 }));
  const others = numbered.slice(1).map(({ id }) => id);
  const all = items.flatMap(({ properties }) => properties);
  const write = (place: number) => {
    const places = numbered.map(({ id, data }) => {
      const entry = [...u16(id), 0, 0, 0, 1, ...u32(place), ...u32(data.length)];
      place += data.length;
      return entry;
    });
    const infos = numbered.map(({ id, type }) => box("infe", [2, 0, 0, 0, ...u16(id), 0, 0, ...letters(type), 0]));
    let number = 0;
    const essential = ["av1C", "irot", "clap"];
    const owned = numbered.map(({ id, properties }) => {
      const numbers = properties.map((one) => {
        number += 1;
        const isEssential = essential.includes(String.fromCharCode(...one.subarray(4, 8)));
        return isLong ? u16(number + (isEssential ? 0x8000 : 0)) : [number + (isEssential ? 0x80 : 0)];
      });
      return [...(isLong ? u32(id) : u16(id)), numbers.length, ...numbers.flat()];
    });
    return join(
      box("ftyp", letters("avif"), u32(0), letters("avifmif1miafMA1A")),
      box(
        "meta",
        u32(0),
        box("hdlr", u32(0), u32(0), letters("pict"), new Uint8Array(13)),
        box("pitm", isLong ? [1, 0, 0, 0, ...u32(1)] : [0, 0, 0, 0, ...u16(1)]),
        box("iloc", u32(0), [0x44, 0], u16(items.length), ...places),
        box("iinf", u32(0), u16(items.length), ...infos),
        ...(others.length > 0 && reference === "dimg"
          ? [box("iref", u32(0), box("dimg", u16(1), u16(others.length), ...others.map(u16)))]
          : others.map((id) => box("iref", u32(0), box(reference, u16(id), u16(1), u16(1))))),
        box("iprp", box("ipco", ...all), box("ipma", isLong ? [1, 0, 0, 1] : u32(0), u32(items.length), ...owned)),
      ),
    );
  };
  const head = write(0).length + 8;
  return join(write(head), box("mdat", ...items.map(({ data }) => data)));
}

const sequence = readClip("moving.avif");
const asImage = (bytes: Bytes) => patched(bytes, "avis", 0, letters("avif"));
const withoutPrimary = (bytes: Bytes) => patched(bytes, "pitm", 0, letters("free"));

/** WebM of 320 × 180 with these elements of its video; there is space for 14 bytes. */
function webm(...elements: [id: number, value: number][]): Bytes {
  const bytes = elements.flatMap(([id, value]) => [
    ...u16(id),
    ...(value > 255 ? [0x82, ...u16(value)] : [0x81, value]),
  ]);
  const rest = 14 - bytes.length;
  const filled = rest === 0 ? bytes : [...bytes, 0xec, 0x80 + rest - 2, ...new Uint8Array(rest - 2)];
  return patched(readClip("vp9-opus.webm"), "\x9a\x81\x02\x55\xb0\x88", 0, filled);
}
const [WIDTH, HEIGHT, UNIT, STEREO, TOP, LEFT] = [0x54b0, 0x54ba, 0x54b2, 0x53b8, 0x54bb, 0x54cc];

type Part = [kind: "video" | "audio" | "subtitle", clip?: Bytes, options?: { rotation?: 90 }];
/** A file with the tracks of these clips. */
async function tracksOf(format: media.OutputFormat, ...parts: Part[]): Promise<Bytes> {
  const target = new media.BufferTarget();
  const output = new media.Output({ format, target });
  const writers: (() => Promise<void>)[] = [];
  for (const [kind, clip = readClip("plain.mp4"), options = {}] of parts) {
    const input = new media.Input({ source: new media.BufferSource(clip), formats: media.ALL_FORMATS });
    const track = kind === "video" ? await input.getPrimaryVideoTrack() : await input.getPrimaryAudioTrack();
    const decoderConfig = await track?.getDecoderConfig();
    let add: (packet: media.EncodedPacket) => Promise<void>;
    if (kind === "video") {
      const source = new media.EncodedVideoPacketSource((await track?.getCodec()) as media.VideoCodec);
      output.addVideoTrack(source, options);
      add = (packet) => source.add(packet, { decoderConfig: decoderConfig as VideoDecoderConfig });
    } else if (kind === "audio") {
      const source = new media.EncodedAudioPacketSource((await track?.getCodec()) as media.AudioCodec);
      output.addAudioTrack(source);
      add = (packet) => source.add(packet, { decoderConfig: decoderConfig as AudioDecoderConfig });
    } else {
      const source = new media.TextSubtitleSource("webvtt");
      output.addSubtitleTrack(source);
      writers.push(() => source.add("WEBVTT\n\n00:00:00.000 --> 00:00:08.000\nThe pier\n"));
      continue;
    }
    writers.push(async () => {
      if (track) for await (const packet of new media.EncodedPacketSink(track).packets()) await add(packet);
    });
  }
  await output.start();
  await Promise.all(writers.map((write) => write()));
  await output.finalize();
  return new Uint8Array(target.buffer ?? new ArrayBuffer());
}
const mp4 = (...parts: Part[]) => tracksOf(new media.Mp4OutputFormat(), ...parts);
/** Without the flag track_enabled of these tracks, by their number from 0. */
async function disabled(numbers: number[], file: Promise<Bytes>): Promise<Bytes> {
  const bytes = (await file).slice();
  for (const number of numbers) bytes[(placesOf(bytes, "tkhd")[number] ?? 0) + 7] = 2;
  return bytes;
}
/** The second has more bytes for each second of it, and stands upright. */
const TWO: [Part, Part] = [["video"], ["video", readClip("fps-30.mp4"), { rotation: 90 }]];

const [square, wide] = [readClip("plain.mp4"), readClip("pixels-wide.mp4")]; // the SPS of the second says 4:3
const withPasp = (clip: Bytes, hSpacing: number, vSpacing: number) =>
  patched(clip, "pasp", 4, [...u32(hSpacing), ...u32(vSpacing)]);
const withoutPasp = (clip: Bytes) => patched(clip, "pasp", 0, letters("free"));
const withWidth = (clip: Bytes, width: number) => patched(clip, "tkhd", 80, u32(width * 65536));

const grid = (width: number, ...properties: Uint8Array[]): Item => ({
  type: "grid",
  data: new Uint8Array([0, 0, 0, 1, ...u16(width), ...u16(100)]),
  properties: [ispe(width, 100), box("pixi", u32(0), [3, 8, 8, 8]), box("av1C", [0x81, 0x20, 0, 0]), ...properties],
});

export const ODD_IMAGES: [what: string, bytes: Bytes, shown: Shown][] = [
  ...[12, 16, 20, 24, 28, 32, 36, 40, 42, 44, 46, 48, 52, 56, 60, 64, 108, 124].map((bytes): [string, Bytes, Shown] => [
    `BMP, a DIB header of ${bytes} bytes`,
    bmp(bytes),
    [4, 3],
  ]),
  ...[11, 14, 18, 68, 128].map((bytes): [string, Bytes, Shown] => [
    `BMP, a DIB header of ${bytes} bytes`,
    bmp(bytes),
    "unusable",
  ]),
  ["GIF, an image within its logical screen", gif([10, 8], [2, 2, 4, 4]), [10, 8]],
  ["GIF, an image larger than its logical screen", gif([10, 8], [0, 0, 16, 12]), [16, 12]],
  ["GIF, an image wider than its logical screen", gif([10, 8], [0, 0, 16, 4]), [16, 8]],
  ["GIF, an image that extends beyond its logical screen", gif([10, 8], [8, 6, 4, 4]), [12, 10]],
  ["GIF, a second image that is larger", gif([10, 8], [0, 0, 10, 8], [0, 0, 16, 12]), [10, 8]],
  ["GIF, an empty logical screen", gif([0, 0], [0, 0, 4, 4]), [4, 4]],
  ["GIF, no image", gif([10, 8]), [10, 8]],
  ["GIF, an empty logical screen and an empty image", gif([0, 0], [0, 0, 0, 0]), "unusable"],
  ["AVIF, 32-bit item IDs and 15-bit property indexes", avif([av01()], "dimg", true), [200, 100]],
  ["AVIF, irot of 90°", avif([av01(irot(1))]), [100, 200]],
  ["AVIF, irot of 180°", avif([av01(irot(2))]), [200, 100]],
  ["AVIF, a thumbnail with irot", avif([av01(), av01(irot(1))], "thmb"), [200, 100]],
  ["AVIF, clap in the upper left corner", avif([av01(clap(100, 50))]), [100, 50]],
  ["AVIF, clap in the upper left corner and irot", avif([av01(clap(100, 50), irot(1))]), [50, 100]],
  ["AVIF, clap in the center", avif([av01(clap(100, 50, [0, 0]))]), [200, 100]],
  ["AVIF, a grid", avif([grid(390), av01(), av01()]), [390, 100]],
  ["AVIF, a grid with irot", avif([grid(400, irot(3)), av01(), av01()]), [100, 400]],
  ["AVIF, a still without a primary item", withoutPrimary(avifOfCanvas), "unusable"],
  ["AVIF, a sequence without a primary item", withoutPrimary(sequence), [320, 180]],
  ["AVIF, a sequence with a smaller still", patched(sequence, "ispe", 8, [...u32(160), ...u32(90)]), [320, 180]],
  ["AVIF, a still with a sequence", asImage(sequence), [320, 180]],
  ["AVIF, a sequence of the brand avif, without a primary item", asImage(withoutPrimary(sequence)), "unusable"],
  [
    "AVIF, a sequence with a smaller size in tkhd",
    patched(sequence, "tkhd", 80, [...u32(160 * 65536), ...u32(90 * 65536)]),
    [160, 90],
  ],
];

/** Videos, each of 3 s. */
export const ODD_VIDEOS: [what: string, bytes: Bytes, shown: Exclude<Shown, string>][] = [
  ...[320, 640, 320, 320, 320, 320, 320, 320, 640, 640, 320, 640, 320, 320, 320].map(
    (width, mode): [string, Bytes, [number, number]] => [
      `WebM, StereoMode ${mode}`,
      webm([STEREO, mode]),
      [width, [2, 3, 6, 7].includes(mode) ? 360 : 180],
    ],
  ),
  ["WebM, StereoMode with DisplayWidth and DisplayHeight", webm([STEREO, 1], [WIDTH, 160], [HEIGHT, 90]), [640, 180]],
  ["WebM, StereoMode with an unknown DisplayUnit", webm([STEREO, 1], [UNIT, 4]), [320, 180]],
  ["WebM, a larger DisplayWidth", webm([WIDTH, 640]), [640, 180]],
  ["WebM, a larger DisplayHeight", webm([HEIGHT, 360]), [320, 360]],
  ...[1, 2, 3].map((unit): [string, Bytes, [number, number]] => [
    `WebM, a display of 4 × 3 in DisplayUnit ${unit}`,
    webm([WIDTH, 4], [HEIGHT, 3], [UNIT, unit]),
    [320, 240],
  ]),
  ["WebM, a display of 4 × 3 with an unknown DisplayUnit", webm([WIDTH, 4], [HEIGHT, 3], [UNIT, 4]), [320, 180]],
  ["WebM, a DisplayUnit of aspect ratio without DisplayHeight", webm([WIDTH, 640], [UNIT, 3]), [320, 180]],
  ["WebM, PixelCrop", webm([LEFT, 80], [TOP, 20]), [320, 180]],
  ["WebM, PixelCrop to the display size", webm([LEFT, 80], [WIDTH, 240], [HEIGHT, 180]), [320, 180]],
  [
    "WebM, two tracks",
    await tracksOf(new media.WebMOutputFormat(), ["video", webm()], ["video", webm([WIDTH, 640])]),
    [320, 180],
  ],
  ["MP4, two tracks", await mp4(...TWO), [320, 180]],
  ["MP4, the first track disabled", await disabled([0], mp4(...TWO)), [180, 320]],
  ["MP4, both tracks disabled", await disabled([0, 1], mp4(...TWO)), [320, 180]],
  ["MP4, its audio track disabled", await disabled([1], mp4(["video"], ["audio"])), [320, 180, 3, false]],
  ["MP4, its video track disabled", await disabled([0], mp4(["video"], ["audio"])), [320, 180, 3, true]],
  ["MP4, all disabled", await disabled([0, 1], mp4(["video"], ["audio"])), [320, 180, 3, true]],
  [
    "MP4, the first audio track disabled",
    await disabled([1], mp4(["video"], ["audio"], ["audio"])),
    [320, 180, 3, true],
  ],
  ["MP4, subtitles of 8 s", await mp4(["video"], ["subtitle"]), [320, 180, 3]],
  ["MP4, pixel aspect ratio from pasp", withPasp(square, 2, 1), [640, 180]],
  ["MP4, pixel aspect ratio from pasp, not from tkhd", withWidth(square, 640), [320, 180]],
  ["MP4, pixel aspect ratio from pasp, not from the SPS", withPasp(wide, 1, 1), [320, 180]],
  ["MP4, pixel aspect ratio from tkhd", withoutPasp(withWidth(square, 640)), [640, 180]],
  ["MP4, pixel aspect ratio from tkhd, not from the SPS", withoutPasp(withWidth(wide, 640)), [640, 180]],
  ["MP4, pixel aspect ratio from the SPS", withoutPasp(withWidth(wide, 320)), [427, 180, 3]],
  ["MP4, pixel aspect ratio from the SPS, with a pasp of 0:1", withPasp(withWidth(wide, 320), 0, 1), [427, 180, 3]],
];
