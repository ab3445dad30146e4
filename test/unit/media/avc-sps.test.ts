import { describe, expect, test } from "vitest";
import { readAvcSampleAspectRatio } from "../../../shared/media/avc-sps.ts";
import { se, toNalUnitBytes, u, ue } from "../../support/media/bits.ts";

// SPSs of H.264, written by hand from its syntax tables (7.3.2.1.1, E.1.1), each with syntax elements that few encoders write.

type Sps = {
  profileIdc?: number;
  /** chroma_format_idc to the end of the scaling lists, of High and later profiles. */
  chroma?: string;
  /** pic_order_cnt_type and what depends on it. */
  picOrderCnt?: string;
  isInterlaced?: boolean;
  isCropped?: boolean;
  /** vui_parameters(); empty: vui_parameters_present_flag is 0. */
  vui?: string;
};
const VUI_4_3 = u(1, 1) + u(8, 14);

function spsOf({ profileIdc = 66, chroma = "", picOrderCnt = ue(0) + ue(2), ...rest }: Sps): string {
  const { isInterlaced = false, isCropped = false, vui = VUI_4_3 } = rest;
  return [
    ...[u(8, profileIdc), u(8, 0), u(8, 30), ue(0)],
    chroma,
    ue(5),
    picOrderCnt,
    ...[ue(3), u(1, 0), ue(19), ue(isInterlaced ? 5 : 11)],
    isInterlaced ? u(1, 0) + u(1, 1) : u(1, 1),
    u(1, 1),
    isCropped ? u(1, 1) + ue(0) + ue(0) + ue(0) + ue(6) : u(1, 0),
    vui === "" ? u(1, 0) : u(1, 1) + vui,
    "1",
  ].join("");
}

const avcCOf = (bits: string) => {
  const nalUnit = [0x67, ...toNalUnitBytes(bits)];
  return [1, 100, 0, 30, 0xff, 0xe1, nalUnit.length >> 8, nalUnit.length & 255, ...nalUnit];
};
/** In a larger buffer, before a PPS. */
const read = (bytes: number[]) => {
  const buffer = new Uint8Array([9, ...bytes, 1, 0, 2, 0x68, 0xff]).buffer;
  return readAvcSampleAspectRatio(new DataView(buffer, 1, buffer.byteLength - 1));
};

const chroma = (chromaFormatIdc: number, scalingMatrix = u(1, 0)) =>
  [ue(chromaFormatIdc), chromaFormatIdc === 3 ? u(1, 0) : "", ue(2), ue(2), u(1, 0), scalingMatrix].join("");
/** Lists in turn: all delta_scale, the default list (the first nextScale is 0), one whose third nextScale is 0, and none. */
const scalingMatrix = (lists: number) =>
  u(1, 1) +
  Array.from({ length: lists }, (_, list) => {
    const all = se(1).repeat(list < 6 ? 16 : 64);
    return [u(1, 1) + all, u(1, 1) + se(-8), u(1, 1) + se(120) + se(127) + se(1), u(1, 0)][list % 4];
  }).join("");
/** pic_order_cnt_type 1 with these offset_for_ref_frame. */
const picOrderCnt1 = (...offsets: number[]) =>
  [ue(1), u(1, 0), se(-2), se(3), ue(offsets.length), ...offsets.map(se)].join("");

describe("an H.264 SPS with a sample aspect ratio of 4:3", () => {
  test.each<[what: string, sps: Sps]>([
    ["nothing else", {}],
    ...[100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].map((profileIdc): [string, Sps] => [
      `the chroma format of profile_idc ${profileIdc}`,
      { profileIdc, chroma: chroma(1) },
    ]),
    ["4:0:0", { profileIdc: 100, chroma: chroma(0) }],
    ["4:2:2", { profileIdc: 122, chroma: chroma(2) }],
    ["4:4:4", { profileIdc: 244, chroma: chroma(3) }],
    ["8 scaling lists", { profileIdc: 100, chroma: chroma(1, scalingMatrix(8)) }],
    ["12 scaling lists of 4:4:4", { profileIdc: 244, chroma: chroma(3, scalingMatrix(12)) }],
    ["pic_order_cnt_type 1", { picOrderCnt: picOrderCnt1(4, -2, 0) }],
    ["pic_order_cnt_type 1 with an empty cycle", { picOrderCnt: picOrderCnt1() }],
    ["24 zero bits with an emulation-prevention byte", { picOrderCnt: picOrderCnt1(2 ** 23) }],
    ["pic_order_cnt_type 2", { picOrderCnt: ue(2) }],
    ["interlaced coding", { isInterlaced: true }],
    ["frame cropping", { isCropped: true }],
    [
      "all of it",
      {
        profileIdc: 244,
        chroma: chroma(3, scalingMatrix(12)),
        picOrderCnt: picOrderCnt1(1, -1),
        isInterlaced: true,
        isCropped: true,
      },
    ],
  ])("an H.264 SPS with a sample aspect ratio of 4:3 after %s → 4:3", (_what, sps) => {
    expect(read(avcCOf(spsOf(sps)))).toBe(4 / 3);
  });
});

test.each<[what: string, vui: string, ratio: number]>([
  ["Extended_SAR", u(1, 1) + u(8, 255) + u(16, 64) + u(16, 45), 64 / 45],
  ["an unspecified aspect_ratio_idc", u(1, 1) + u(8, 0), 1],
  ["no aspect ratio in its VUI", u(1, 0), 1],
  ["no VUI", "", 1],
])("an H.264 SPS with %s → its sample aspect ratio; else 1", (_what, vui, ratio) => {
  expect(read(avcCOf(spsOf({ vui })))).toBe(ratio);
});

test("an avcC without an SPS, truncated, or of repeated bytes → 1, without delay", () => {
  const vui = u(1, 1) + u(8, 255) + u(16, 64) + u(16, 0xffff); // a truncated sar_height is not 0 either
  const whole = avcCOf(spsOf({ profileIdc: 100, chroma: chroma(1, scalingMatrix(8)), vui }));
  const readOnly = (bytes: number[]) => readAvcSampleAspectRatio(new DataView(new Uint8Array(bytes).buffer));
  expect(readOnly(whole.with(5, 0xe0))).toBe(1);
  for (let length = 0; length < whole.length - 1; length++) expect(readOnly(whole.slice(0, length))).toBe(1);
  for (const byte of [0, 1, 3, 255])
    expect(read([1, 100, 0, 30, 0xff, 0xe1, 0xff, 0xff, ...Array(60_000).fill(byte)])).toBeGreaterThan(0);
});
