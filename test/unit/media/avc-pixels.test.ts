import { describe, expect, test } from "vitest";
import { readPixelRatio } from "../../../shared/media/avc-pixels.ts";
import { se, toUnit, u, ue } from "../../support/media/bits.ts";

// Headers of H.264 made by hand from the tables of ITU-T H.264 (7.3.2.1.1, E.1.1), each with what few encoders write.

type Header = {
  profile?: number;
  /** What the profiles from High on say about colors. */
  colors?: string;
  /** The kind of picture order, and what follows it. */
  order?: string;
  isInterlaced?: boolean;
  isCropped?: boolean;
  /** What the header says about how a video is shown, after its flag. */
  shown?: string;
};
const SHAPE_4_3 = u(1, 1) + u(8, 14);

function header({ profile = 66, colors = "", order = ue(0) + ue(2), ...rest }: Header): string {
  const { isInterlaced = false, isCropped = false, shown = SHAPE_4_3 } = rest;
  return [
    ...[u(8, profile), u(8, 0), u(8, 30), ue(0)],
    colors,
    ue(5),
    order,
    ...[ue(3), u(1, 0), ue(19), ue(isInterlaced ? 5 : 11)],
    isInterlaced ? u(1, 0) + u(1, 1) : u(1, 1),
    u(1, 1),
    isCropped ? u(1, 1) + ue(0) + ue(0) + ue(0) + ue(6) : u(1, 0),
    shown === "" ? u(1, 0) : u(1, 1) + shown,
    "1",
  ].join("");
}

const configOf = (bits: string) => {
  const unit = [0x67, ...toUnit(bits)];
  return [1, 100, 0, 30, 0xff, 0xe1, unit.length >> 8, unit.length & 255, ...unit];
};
/** In a larger buffer, before a picture header. */
const read = (bytes: number[]) => {
  const buffer = new Uint8Array([9, ...bytes, 1, 0, 2, 0x68, 0xff]).buffer;
  return readPixelRatio(new DataView(buffer, 1, buffer.byteLength - 1));
};

const colors = (format: number, scaling = u(1, 0)) =>
  [ue(format), format === 3 ? u(1, 0) : "", ue(2), ue(2), u(1, 0), scaling].join("");
/** Lists in turn: all numbers, the usual one (a first scale of 0), one that ends at a third scale of 256, and none. */
const scaling = (lists: number) =>
  u(1, 1) +
  Array.from({ length: lists }, (_, list) => {
    const all = se(1).repeat(list < 6 ? 16 : 64);
    return [u(1, 1) + all, u(1, 1) + se(-8), u(1, 1) + se(120) + se(127) + se(1), u(1, 0)][list % 4];
  }).join("");
const order = (...offsets: number[]) =>
  [ue(1), u(1, 0), se(-2), se(3), ue(offsets.length), ...offsets.map(se)].join("");

describe("H.264 that says 4:3", () => {
  test.each<[what: string, header: Header]>([
    ["nothing else", {}],
    ...[100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].map((profile): [string, Header] => [
      `the colors of profile ${profile}`,
      { profile, colors: colors(1) },
    ]),
    ["no colors", { profile: 100, colors: colors(0) }],
    ["4:2:2", { profile: 122, colors: colors(2) }],
    ["4:4:4", { profile: 244, colors: colors(3) }],
    ["8 scaling lists", { profile: 100, colors: colors(1, scaling(8)) }],
    ["12 scaling lists of 4:4:4", { profile: 244, colors: colors(3, scaling(12)) }],
    ["an order by a cycle", { order: order(4, -2, 0) }],
    ["an order by an empty cycle", { order: order() }],
    ["an order with 24 zeros, between which a 3 stands", { order: order(2 ** 23) }],
    ["the order of decoding", { order: ue(2) }],
    ["interlaced pictures", { isInterlaced: true }],
    ["cropping", { isCropped: true }],
    [
      "all of it",
      { profile: 244, colors: colors(3, scaling(12)), order: order(1, -1), isInterlaced: true, isCropped: true },
    ],
  ])("H.264 that says 4:3 after %s → 4:3", (_what, fields) => {
    expect(read(configOf(header(fields)))).toBe(4 / 3);
  });
});

test.each<[what: string, shown: string, ratio: number]>([
  ["a shape of its own", u(1, 1) + u(8, 255) + u(16, 64) + u(16, 45), 64 / 45],
  ["a shape that is not stated", u(1, 1) + u(8, 0), 1],
  ["no shape", u(1, 0), 1],
  ["nothing about how it is shown", "", 1],
])("an H.264 header with %s → its ratio; else square pixels", (_what, shown, ratio) => {
  expect(read(configOf(header({ shown })))).toBe(ratio);
});

test("an H.264 configuration without a header, truncated, or of random bytes → square pixels, at once", () => {
  const shown = u(1, 1) + u(8, 255) + u(16, 64) + u(16, 0xffff); // a part of the last number is a number too
  const whole = configOf(header({ profile: 100, colors: colors(1, scaling(8)), shown }));
  const readOnly = (bytes: number[]) => readPixelRatio(new DataView(new Uint8Array(bytes).buffer));
  expect(readOnly(whole.with(5, 0xe0))).toBe(1);
  for (let length = 0; length < whole.length - 1; length++) expect(readOnly(whole.slice(0, length))).toBe(1);
  for (const byte of [0, 1, 3, 255])
    expect(read([1, 100, 0, 30, 0xff, 0xe1, 0xff, 0xff, ...Array(60_000).fill(byte)])).toBeGreaterThan(0);
});
