/** Width:height of a sample by aspect_ratio_idc, from 1 (ITU-T H.264, Table E-1; H.265 has the same). */
const SAMPLE_ASPECT_RATIOS =
  "1:1 12:11 10:11 16:11 40:33 24:11 20:11 32:11 80:33 18:11 15:11 64:33 160:99 4:3 3:2 2:1".split(" ");
const EXTENDED_SAR = 255;
/** The values of profile_idc whose SPS has chroma_format_idc and what follows it: High and later profiles. */
const HIGH_PROFILES = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135];

/**
 * Sample aspect ratio (width ÷ height) from the first SPS (ITU-T H.264, 7.3.2.1.1) in an `avcC`, the AVCDecoderConfigurationRecord of
 * ISO/IEC 14496-15; 1 if absent or unreadable.
 */
export function readAvcSampleAspectRatio(avcC: DataView): number {
  if (avcC.byteLength < 9 || (avcC.getUint8(5) & 31) === 0) return 1; // numOfSequenceParameterSets
  const rbsp = createRbspReader(
    new DataView(avcC.buffer, avcC.byteOffset + 9, avcC.byteLength - 9), // after the NAL unit header
    avcC.getUint16(6) - 1, // sequenceParameterSetLength
  );
  const profileIdc = rbsp.readBits(8);
  rbsp.readBits(16); // constraint_set flags, level_idc
  rbsp.readUe(); // seq_parameter_set_id
  if (HIGH_PROFILES.includes(profileIdc)) skipChromaAndScaling(rbsp);
  rbsp.readUe(); // log2_max_frame_num_minus4
  const picOrderCntType = rbsp.readUe();
  if (picOrderCntType === 0) rbsp.readUe(); // log2_max_pic_order_cnt_lsb_minus4
  if (picOrderCntType === 1) {
    rbsp.readBits(1); // delta_pic_order_always_zero_flag
    rbsp.skipUe(2); // offset_for_non_ref_pic, offset_for_top_to_bottom_field
    rbsp.skipUe(Math.min(255, rbsp.readUe())); // num_ref_frames_in_pic_order_cnt_cycle × offset_for_ref_frame
  }
  rbsp.readUe(); // max_num_ref_frames
  rbsp.readBits(1); // gaps_in_frame_num_value_allowed_flag
  rbsp.skipUe(2); // pic_width_in_mbs_minus1, pic_height_in_map_units_minus1
  const frameMbsOnlyFlag = rbsp.readFlag();
  if (!frameMbsOnlyFlag) rbsp.readBits(1); // mb_adaptive_frame_field_flag
  rbsp.readBits(1); // direct_8x8_inference_flag
  const frameCroppingFlag = rbsp.readFlag();
  if (frameCroppingFlag) rbsp.skipUe(4); // frame_crop_(left|right|top|bottom)_offset
  const vuiParametersPresentFlag = rbsp.readFlag();
  return vuiParametersPresentFlag ? readSampleAspectRatio(rbsp) : 1;
}

/** Reads the start of vui_parameters() (H.264, E.1.1; H.265, E.2.1). 1 if unspecified, reserved or past the end. */
export function readSampleAspectRatio(rbsp: RbspReader): number {
  const aspectRatioInfoPresentFlag = rbsp.readFlag();
  const aspectRatioIdc = aspectRatioInfoPresentFlag ? rbsp.readBits(8) : 0;
  const [sarWidth = 0, sarHeight = 0] =
    aspectRatioIdc === EXTENDED_SAR
      ? [rbsp.readBits(16), rbsp.readBits(16)]
      : (SAMPLE_ASPECT_RATIOS[aspectRatioIdc - 1] ?? "").split(":").map(Number);
  return sarWidth > 0 && sarHeight > 0 && !rbsp.isPastEnd() ? sarWidth / sarHeight : 1;
}

/** Skips from chroma_format_idc to the end of the scaling lists (7.3.2.1.1.1). */
function skipChromaAndScaling(rbsp: RbspReader): void {
  const chromaFormatIdc = rbsp.readUe();
  if (chromaFormatIdc === 3) rbsp.readBits(1); // separate_colour_plane_flag
  rbsp.skipUe(2); // bit_depth_luma_minus8, bit_depth_chroma_minus8
  rbsp.readBits(1); // qpprime_y_zero_transform_bypass_flag
  const seqScalingMatrixPresentFlag = rbsp.readFlag();
  if (!seqScalingMatrixPresentFlag) return;
  for (let list = 0; list < (chromaFormatIdc === 3 ? 12 : 8); list++) {
    const seqScalingListPresentFlag = rbsp.readFlag();
    if (!seqScalingListPresentFlag) continue;
    const sizeOfScalingList = list < 6 ? 16 : 64;
    for (let index = 0, lastScale = 8, nextScale = 8; index < sizeOfScalingList; index++) {
      if (nextScale !== 0) nextScale = (lastScale + rbsp.readSe()) & 255; // delta_scale
      if (nextScale !== 0) lastScale = nextScale;
    }
  }
}

export type RbspReader = ReturnType<typeof createRbspReader>;

/** The bits of an RBSP, without emulation-prevention bytes (H.264, 7.3.1; H.265, 7.3.1.1); reads past the end give 0. */
export function createRbspReader(view: DataView, length: number) {
  const bytes: number[] = [];
  for (let at = 0, zeros = 0; at < Math.min(length, view.byteLength); at++) {
    const byte = view.getUint8(at);
    if (zeros < 2 || byte !== 3) bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  let position = 0;
  const readBit = () => ((bytes[position >> 3] ?? 0) >> (7 - (position++ & 7))) & 1;
  const readBits = (count: number) => {
    let value = 0;
    for (let bit = 0; bit < count; bit++) value = 2 * value + readBit();
    return value;
  };
  /** ue(v), an unsigned Exp-Golomb code (H.264, 9.1). */
  const readUe = () => {
    let leadingZeroBits = 0;
    while (leadingZeroBits < 32 && readBit() === 0) leadingZeroBits++;
    return 2 ** leadingZeroBits - 1 + readBits(leadingZeroBits);
  };
  return {
    /** u(n) */
    readBits,
    /** u(1) */
    readFlag: () => readBit() === 1,
    readUe,
    /** se(v), a signed Exp-Golomb code (H.264, 9.1.1). */
    readSe: () => {
      const codeNum = readUe();
      return codeNum % 2 === 1 ? (codeNum + 1) / 2 : -codeNum / 2;
    },
    /** Skips ue(v) or se(v), which have the same length. */
    skipUe: (count: number) => {
      for (let code = 0; code < count; code++) readUe();
    },
    isPastEnd: () => position > 8 * bytes.length,
  };
}
