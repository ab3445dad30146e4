import { describe, expect, test } from "vitest";
import { readHevcPixelRatio } from "../../../shared/media/hevc-pixels.ts";
import { createMp4Reader } from "../../../shared/media/mp4-reader.ts";
import { se, toUnit, u, ue } from "../../support/media/bits.ts";
import { patched, readClip } from "../../support/media/clips.ts";

// Headers of H.265 made by hand from the tables of ITU-T H.265 (7.3.2.2, 7.3.3, 7.3.4, 7.3.7, E.2.1), each with what few encoders write.

type Header = {
  /** Layers in time beyond the first, each with its profile and level or without. */
  layers?: [profile: boolean, level: boolean][];
  chroma?: number;
  window?: boolean;
  orderingOfEach?: boolean;
  scaling?: string;
  pcm?: boolean;
  sets?: string[];
  longTerm?: number;
  /** What the header says about how a video is shown, after its flag. */
  shown?: string;
};
const SHAPE_4_3 = u(1, 1) + u(8, 14);

function header({ layers = [], chroma = 1, sets = [], ...rest }: Header): string {
  const { window = false, orderingOfEach = false, scaling = "0", pcm = false, longTerm, shown = SHAPE_4_3 } = rest;
  return [
    ...[u(16, 0x4201), u(4, 0), u(3, layers.length), u(1, 1)],
    ...[u(8, 1), u(32, 0x60000000), u(48, 0x900000000000), u(8, 60)],
    ...layers.map(([profile, level]) => u(1, Number(profile)) + u(1, Number(level))),
    layers.length > 0 ? u(2 * (8 - layers.length), 0) : "",
    ...layers.map(([profile, level]) => (profile ? u(44, 1) + u(44, 7) : "") + (level ? u(8, 60) : "")),
    ...[ue(0), ue(chroma), chroma === 3 ? u(1, 0) : "", ue(320), ue(184)],
    window ? u(1, 1) + ue(0) + ue(0) + ue(0) + ue(2) : u(1, 0),
    ...[ue(0), ue(2), ue(4)],
    u(1, Number(orderingOfEach)),
    (ue(4) + ue(2) + ue(0)).repeat(orderingOfEach ? layers.length + 1 : 1),
    ...[ue(0), ue(2), ue(0), ue(3), ue(1), ue(1)],
    scaling,
    u(2, 1),
    pcm ? u(1, 1) + u(4, 7) + u(4, 7) + ue(0) + ue(2) + u(1, 1) : u(1, 0),
    ue(sets.length),
    ...sets,
    longTerm === undefined ? u(1, 0) : u(1, 1) + ue(longTerm) + u(8 + 1, 5).repeat(longTerm),
    u(2, 3),
    shown === "" ? u(1, 0) : u(1, 1) + shown,
    "1",
  ].join("");
}

const array = (type: number, ...units: number[][]) => [
  ...[0x80 | type, 0, units.length],
  ...units.flatMap((unit) => [unit.length >> 8, unit.length & 255, ...unit]),
];
const config = (...arrays: number[][]) => [...Array(22).fill(1), arrays.length, ...arrays.flat()];
const VIDEO = array(32, [0x40, 1, 12], [0x40, 1, 13]);
const configOf = (bits: string) => config(VIDEO, array(33, toUnit(bits)), array(34, [0x44, 1]));
/** In a larger buffer. */
const read = (bytes: number[]) =>
  readHevcPixelRatio(new DataView(new Uint8Array([9, ...bytes, 9]).buffer, 1, bytes.length));

const direct = (negative: number, positive: number) =>
  ue(negative) + ue(positive) + (ue(0) + u(1, 1)).repeat(negative + positive);
const OWN_SCALING = [0, 1, 2, 3]
  .flatMap((size) =>
    Array.from({ length: size === 3 ? 2 : 6 }, (_, matrix) =>
      matrix === 1
        ? u(1, 0) + ue(1)
        : u(1, 1) + (size > 1 ? se(8) : "") + se(-3).repeat(Math.min(64, 1 << (4 + 2 * size))),
    ),
  )
  .join("");

describe("H.265 that says 4:3", () => {
  test.each<[what: string, header: Header]>([
    ["nothing else", {}],
    [
      "layers in time with profiles and levels",
      {
        layers: [
          [true, true],
          [false, true],
          [true, false],
        ],
      },
    ],
    ["seven layers, each with its order", { layers: Array(7).fill([true, true]), orderingOfEach: true }],
    ["one order of several layers", { layers: [[false, false]] }],
    ["no colors", { chroma: 0 }],
    ["all colors", { chroma: 3 }],
    ["a window", { window: true }],
    ["the usual scaling", { scaling: "10" }],
    ["scaling of its own", { scaling: `11${OWN_SCALING}` }],
    ["uncompressed blocks", { pcm: true }],
    ["sets of pictures", { sets: [direct(2, 1), u(1, 0) + direct(0, 3), u(1, 0) + direct(0, 0)] }],
    // Of the three pictures of the first and the one between, the second leaves one out, the third none.
    ["sets told by another", { sets: [direct(2, 1), `11${ue(0)}1${"00"}11`, `10${ue(3)}1${"01"}11`] }],
    ["pictures kept for long", { longTerm: 3 }],
    [
      "all of it",
      {
        layers: [[true, true]],
        window: true,
        scaling: `11${OWN_SCALING}`,
        pcm: true,
        sets: [direct(1, 1)],
        longTerm: 2,
      },
    ],
  ])("H.265 that says 4:3 after %s → 4:3", (_what, fields) => {
    expect(read(configOf(header(fields)))).toBe(4 / 3);
  });
});

const TABLE = "1:1 12:11 10:11 16:11 40:33 24:11 20:11 32:11 80:33 18:11 15:11 64:33 160:99 4:3 3:2 2:1".split(" ");
test.each<[what: string, shown: string, ratio: number]>([
  ...TABLE.map((shape, at): [string, string, number] => {
    const [across = 1, down = 1] = shape.split(":").map(Number);
    return [`the shape ${shape}`, u(1, 1) + u(8, at + 1), across / down];
  }),
  ["a shape of its own", u(1, 1) + u(8, 255) + u(16, 64) + u(16, 45), 64 / 45],
  ["a shape of its own without a side", u(1, 1) + u(8, 255) + u(16, 64) + u(16, 0), 1],
  ["a shape that is not stated", u(1, 1) + u(8, 0), 1],
  ["a shape that no table has", u(1, 1) + u(8, 17), 1],
  ["no shape", u(1, 0), 1],
  ["nothing about how it is shown", "", 1],
])("an H.265 header with %s → its ratio; else square pixels", (_what, shown, ratio) => {
  expect(read(configOf(header({ shown })))).toBe(ratio);
});

test("an H.265 configuration without a header, truncated, or of random bytes → square pixels, at once", () => {
  const whole = configOf(header({ sets: [direct(2, 1)] }));
  for (const bytes of [[], [1], config(VIDEO), config(array(33)), config(array(33, []))]) expect(read(bytes)).toBe(1);
  for (let length = 0; length < whole.length - 8; length++) expect(read(whole.slice(0, length))).toBe(1);
  for (const byte of [0, 1, 3, 255]) expect(read(config(array(33, Array(60_000).fill(byte))))).toBeGreaterThan(0);
});

test("an MP4 of H.265 whose stream says 4:3 → its shown width; as its encoder wrote it → square pixels", () => {
  const plain = readClip("hevc.mp4");
  const stated = patched(patched(plain, "pasp", 0, [102, 114, 101, 101]), "hvcC", 4, configOf(header({})));
  for (const [bytes, width] of [
    [plain, 320],
    [stated, 427],
  ] as const) {
    const reader = createMp4Reader();
    reader.push(bytes);
    expect(reader.end()).toMatchObject({ width, height: 180 });
  }
});
