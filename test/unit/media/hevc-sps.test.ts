import { describe, expect, test } from "vitest";
import { readHevcSampleAspectRatio } from "../../../shared/media/hevc-sps.ts";
import { createMp4Reader } from "../../../shared/media/mp4-reader.ts";
import { se, toNalUnitBytes, u, ue } from "../../support/media/bits.ts";
import { patched, readClip } from "../../support/media/clips.ts";

// SPSs of H.265, written by hand from its syntax tables (7.3.2.2, 7.3.3, 7.3.4, 7.3.7, E.2.1), each with syntax elements that few encoders
// write.

type Sps = {
  /** sps_max_sub_layers_minus1, with sub_layer_profile_present_flag and sub_layer_level_present_flag of each. */
  subLayers?: [profile: boolean, level: boolean][];
  chromaFormatIdc?: number;
  conformanceWindow?: boolean;
  subLayerOrderingInfo?: boolean;
  /** scaling_list_enabled_flag and what depends on it. */
  scaling?: string;
  pcm?: boolean;
  shortTermRefPicSets?: string[];
  /** num_long_term_ref_pics_sps */
  longTermRefPics?: number;
  /** vui_parameters(); empty: vui_parameters_present_flag is 0. */
  vui?: string;
};
const VUI_4_3 = u(1, 1) + u(8, 14);

function spsOf({ subLayers = [], chromaFormatIdc = 1, shortTermRefPicSets = [], ...rest }: Sps): string {
  const { conformanceWindow = false, subLayerOrderingInfo = false, scaling = "0", pcm = false } = rest;
  const { longTermRefPics, vui = VUI_4_3 } = rest;
  return [
    ...[u(16, 0x4201), u(4, 0), u(3, subLayers.length), u(1, 1)],
    ...[u(8, 1), u(32, 0x60000000), u(48, 0x900000000000), u(8, 60)],
    ...subLayers.map(([profile, level]) => u(1, Number(profile)) + u(1, Number(level))),
    subLayers.length > 0 ? u(2 * (8 - subLayers.length), 0) : "",
    ...subLayers.map(([profile, level]) => (profile ? u(44, 1) + u(44, 7) : "") + (level ? u(8, 60) : "")),
    ...[ue(0), ue(chromaFormatIdc), chromaFormatIdc === 3 ? u(1, 0) : "", ue(320), ue(184)],
    conformanceWindow ? u(1, 1) + ue(0) + ue(0) + ue(0) + ue(2) : u(1, 0),
    ...[ue(0), ue(2), ue(4)],
    u(1, Number(subLayerOrderingInfo)),
    (ue(4) + ue(2) + ue(0)).repeat(subLayerOrderingInfo ? subLayers.length + 1 : 1),
    ...[ue(0), ue(2), ue(0), ue(3), ue(1), ue(1)],
    scaling,
    u(2, 1),
    pcm ? u(1, 1) + u(4, 7) + u(4, 7) + ue(0) + ue(2) + u(1, 1) : u(1, 0),
    ue(shortTermRefPicSets.length),
    ...shortTermRefPicSets,
    longTermRefPics === undefined ? u(1, 0) : u(1, 1) + ue(longTermRefPics) + u(8 + 1, 5).repeat(longTermRefPics),
    u(2, 3),
    vui === "" ? u(1, 0) : u(1, 1) + vui,
    "1",
  ].join("");
}

const arrayOf = (nalUnitType: number, ...nalUnits: number[][]) => [
  ...[0x80 | nalUnitType, 0, nalUnits.length],
  ...nalUnits.flatMap((nalUnit) => [nalUnit.length >> 8, nalUnit.length & 255, ...nalUnit]),
];
const hvcC = (...arrays: number[][]) => [...Array(22).fill(1), arrays.length, ...arrays.flat()];
const [VPS_NUT, SPS_NUT, PPS_NUT] = [32, 33, 34];
const VPS = arrayOf(VPS_NUT, [0x40, 1, 12], [0x40, 1, 13]);
const hvcCOf = (bits: string) => hvcC(VPS, arrayOf(SPS_NUT, toNalUnitBytes(bits)), arrayOf(PPS_NUT, [0x44, 1]));
/** In a larger buffer. */
const read = (bytes: number[]) =>
  readHevcSampleAspectRatio(new DataView(new Uint8Array([9, ...bytes, 9]).buffer, 1, bytes.length));

const refPicSet = (numNegativePics: number, numPositivePics: number) =>
  ue(numNegativePics) + ue(numPositivePics) + (ue(0) + u(1, 1)).repeat(numNegativePics + numPositivePics);
const SCALING_LIST_DATA = [0, 1, 2, 3]
  .flatMap((sizeId) =>
    Array.from({ length: sizeId === 3 ? 2 : 6 }, (_, matrix) =>
      matrix === 1
        ? u(1, 0) + ue(1)
        : u(1, 1) + (sizeId > 1 ? se(8) : "") + se(-3).repeat(Math.min(64, 1 << (4 + 2 * sizeId))),
    ),
  )
  .join("");

describe("an H.265 SPS with a sample aspect ratio of 4:3", () => {
  test.each<[what: string, sps: Sps]>([
    ["nothing else", {}],
    [
      "sub-layers with profiles and levels",
      {
        subLayers: [
          [true, true],
          [false, true],
          [true, false],
        ],
      },
    ],
    [
      "seven sub-layers, each with its ordering info",
      { subLayers: Array(7).fill([true, true]), subLayerOrderingInfo: true },
    ],
    ["one ordering info for all sub-layers", { subLayers: [[false, false]] }],
    ["4:0:0", { chromaFormatIdc: 0 }],
    ["4:4:4", { chromaFormatIdc: 3 }],
    ["a conformance window", { conformanceWindow: true }],
    ["the default scaling lists", { scaling: "10" }],
    ["scaling_list_data()", { scaling: `11${SCALING_LIST_DATA}` }],
    ["PCM", { pcm: true }],
    [
      "short-term reference picture sets",
      { shortTermRefPicSets: [refPicSet(2, 1), u(1, 0) + refPicSet(0, 3), u(1, 0) + refPicSet(0, 0)] },
    ],
    // A predicted set has an entry for each picture of the set before and one more: the second drops one of four, the third none.
    [
      "predicted short-term reference picture sets",
      { shortTermRefPicSets: [refPicSet(2, 1), `11${ue(0)}1${"00"}11`, `10${ue(3)}1${"01"}11`] },
    ],
    ["long-term reference pictures", { longTermRefPics: 3 }],
    [
      "all of it",
      {
        subLayers: [[true, true]],
        conformanceWindow: true,
        scaling: `11${SCALING_LIST_DATA}`,
        pcm: true,
        shortTermRefPicSets: [refPicSet(1, 1)],
        longTermRefPics: 2,
      },
    ],
  ])("an H.265 SPS with a sample aspect ratio of 4:3 after %s → 4:3", (_what, sps) => {
    expect(read(hvcCOf(spsOf(sps)))).toBe(4 / 3);
  });
});

const SAMPLE_ASPECT_RATIOS =
  "1:1 12:11 10:11 16:11 40:33 24:11 20:11 32:11 80:33 18:11 15:11 64:33 160:99 4:3 3:2 2:1".split(" ");
test.each<[what: string, vui: string, ratio: number]>([
  ...SAMPLE_ASPECT_RATIOS.map((sar, at): [string, string, number] => {
    const [width = 1, height = 1] = sar.split(":").map(Number);
    return [`aspect_ratio_idc of ${sar}`, u(1, 1) + u(8, at + 1), width / height];
  }),
  ["Extended_SAR", u(1, 1) + u(8, 255) + u(16, 64) + u(16, 45), 64 / 45],
  ["Extended_SAR whose sar_height is 0", u(1, 1) + u(8, 255) + u(16, 64) + u(16, 0), 1],
  ["an unspecified aspect_ratio_idc", u(1, 1) + u(8, 0), 1],
  ["a reserved aspect_ratio_idc", u(1, 1) + u(8, 17), 1],
  ["no aspect ratio in its VUI", u(1, 0), 1],
  ["no VUI", "", 1],
])("an H.265 SPS with %s → its sample aspect ratio; else 1", (_what, vui, ratio) => {
  expect(read(hvcCOf(spsOf({ vui })))).toBe(ratio);
});

test("an hvcC without an SPS, truncated, or of repeated bytes → 1, without delay", () => {
  const whole = hvcCOf(spsOf({ shortTermRefPicSets: [refPicSet(2, 1)] }));
  for (const bytes of [[], [1], hvcC(VPS), hvcC(arrayOf(SPS_NUT)), hvcC(arrayOf(SPS_NUT, []))])
    expect(read(bytes)).toBe(1);
  for (let length = 0; length < whole.length - 8; length++) expect(read(whole.slice(0, length))).toBe(1);
  for (const byte of [0, 1, 3, 255]) expect(read(hvcC(arrayOf(SPS_NUT, Array(60_000).fill(byte))))).toBeGreaterThan(0);
});

test("an H.265 MP4 without pasp and with a 4:3 SPS → its display width; with both as encoded → square pixels", () => {
  const plain = readClip("hevc.mp4");
  const stated = patched(patched(plain, "pasp", 0, [102, 114, 101, 101]), "hvcC", 4, hvcCOf(spsOf({})));
  for (const [bytes, width] of [
    [plain, 320],
    [stated, 427],
  ] as const) {
    const reader = createMp4Reader();
    reader.push(bytes);
    expect(reader.end()).toMatchObject({ width, height: 180 });
  }
});
