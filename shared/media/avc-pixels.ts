/** The shapes of pixels, width and height, by their number in ITU-T H.264, table E-1, which is that of H.265. */
const SHAPES = "1:1 12:11 10:11 16:11 40:33 24:11 20:11 32:11 80:33 18:11 15:11 64:33 160:99 4:3 3:2 2:1".split(" ");
const OWN_SHAPE = 255;
/** Profiles whose header has fields for colors. */
const WITH_COLORS = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135];

/**
 * How much wider a pixel of an H.264 video is than tall, by the header of the stream (7.3.2.1.1) in a decoder's configuration (`avcC`); 1
 * when it does not tell, or cannot be read.
 */
export function readPixelRatio(config: DataView): number {
  if (config.byteLength < 9 || (config.getUint8(5) & 31) === 0) return 1;
  const bits = readBits(
    new DataView(config.buffer, config.byteOffset + 9, config.byteLength - 9),
    config.getUint16(6) - 1,
  );
  const profile = bits.take(8); // profile_idc
  bits.take(16); // constraint_set flags, level_idc
  bits.number(); // seq_parameter_set_id
  if (WITH_COLORS.includes(profile)) skipColors(bits);
  bits.number(); // log2_max_frame_num_minus4
  const order = bits.number(); // pic_order_cnt_type
  if (order === 0) bits.number(); // log2_max_pic_order_cnt_lsb_minus4
  if (order === 1) {
    bits.take(1); // delta_pic_order_always_zero_flag
    bits.skipNumbers(2); // offset_for_non_ref_pic, offset_for_top_to_bottom_field
    bits.skipNumbers(Math.min(255, bits.number())); // num_ref_frames_in_pic_order_cnt_cycle: offset_for_ref_frame
  }
  bits.number(); // max_num_ref_frames
  bits.take(1); // gaps_in_frame_num_value_allowed_flag
  bits.skipNumbers(2); // pic_width_in_mbs_minus1, pic_height_in_map_units_minus1
  if (bits.take(1) === 0) bits.take(1); // frame_mbs_only_flag: mb_adaptive_frame_field_flag
  bits.take(1); // direct_8x8_inference_flag
  if (bits.take(1) === 1) bits.skipNumbers(4); // frame_cropping_flag: frame_crop_(left|right|top|bottom)_offset
  return bits.take(1) === 1 ? readShape(bits) : 1; // vui_parameters_present_flag
}

/** How much wider a pixel is than tall, at the beginning of what both codecs say about how a video is shown (E.2.1). */
export function readShape(bits: Bits): number {
  const shape = bits.take(1) === 1 ? bits.take(8) : 0; // aspect_ratio_info_present_flag: aspect_ratio_idc
  // sar_width, sar_height
  const [across = 0, down = 0] =
    shape === OWN_SHAPE ? [bits.take(16), bits.take(16)] : (SHAPES[shape - 1] ?? "").split(":").map(Number);
  return across > 0 && down > 0 && !bits.isOver() ? across / down : 1;
}

function skipColors(bits: Bits): void {
  const format = bits.number(); // chroma_format_idc
  if (format === 3) bits.take(1); // separate_colour_plane_flag
  bits.skipNumbers(2); // bit_depth_luma_minus8, bit_depth_chroma_minus8
  bits.take(1); // qpprime_y_zero_transform_bypass_flag
  if (bits.take(1) === 0) return; // seq_scaling_matrix_present_flag
  for (let list = 0; list < (format === 3 ? 12 : 8); list++) {
    if (bits.take(1) === 0) continue; // seq_scaling_list_present_flag
    const length = list < 6 ? 16 : 64;
    for (let at = 0, last = 8, next = 8; at < length; at++) {
      if (next !== 0) next = (last + bits.signed()) & 255; // delta_scale
      if (next !== 0) last = next;
    }
  }
}

export type Bits = ReturnType<typeof readBits>;

/** The bits of a header, without the bytes 3 that keep two zeros apart from what follows. Behind its end there are zeros. */
export function readBits(view: DataView, length: number) {
  const bytes: number[] = [];
  for (let at = 0, zeros = 0; at < Math.min(length, view.byteLength); at++) {
    const byte = view.getUint8(at);
    if (zeros < 2 || byte !== 3) bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  let at = 0;
  const bit = () => ((bytes[at >> 3] ?? 0) >> (7 - (at++ & 7))) & 1;
  const take = (count: number) => {
    let value = 0;
    for (let more = 0; more < count; more++) value = 2 * value + bit();
    return value;
  };
  /** Exponential-Golomb code: as many zeros as bits follow the next one. */
  const number = () => {
    let zeros = 0;
    while (zeros < 32 && bit() === 0) zeros++;
    return 2 ** zeros - 1 + take(zeros);
  };
  return {
    take,
    number,
    signed: () => {
      const value = number();
      return value % 2 === 1 ? (value + 1) / 2 : -value / 2;
    },
    skipNumbers: (count: number) => {
      for (let more = 0; more < count; more++) number();
    },
    isOver: () => at > 8 * bytes.length,
  };
}
