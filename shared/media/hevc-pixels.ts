import { type Bits, readBits, readShape } from "./avc-pixels.ts";

const SEQUENCE_HEADER = 33;
/** More is in no valid stream. */
const MAX_SETS = 64;
const MAX_PICTURES = 32;

/**
 * How much wider a pixel of an H.265 video is than tall, by the header of the stream (7.3.2.2) in a decoder's configuration (`hvcC`,
 * ISO/IEC 14496-15, 8.3.3.1); 1 when it does not tell, or cannot be read.
 */
export function readHevcPixelRatio(config: DataView): number {
  const bits = findHeader(config);
  if (bits === null) return 1;
  bits.take(16 + 4); // nal_unit_header, sps_video_parameter_set_id
  const layers = bits.take(3); // sps_max_sub_layers_minus1
  bits.take(1); // sps_temporal_id_nesting_flag
  skipProfile(bits, layers);
  bits.number(); // sps_seq_parameter_set_id
  if (bits.number() === 3) bits.take(1); // chroma_format_idc: separate_colour_plane_flag
  bits.skipNumbers(2); // pic_width_in_luma_samples, pic_height_in_luma_samples
  if (bits.take(1) === 1) bits.skipNumbers(4); // conformance_window_flag: conf_win_(left|right|top|bottom)_offset
  bits.skipNumbers(2); // bit_depth_luma_minus8, bit_depth_chroma_minus8
  const orderBits = bits.number() + 4; // log2_max_pic_order_cnt_lsb_minus4
  const orders = bits.take(1) === 1 ? layers + 1 : 1; // sps_sub_layer_ordering_info_present_flag
  // sps_max_dec_pic_buffering_minus1, sps_max_num_reorder_pics, sps_max_latency_increase_plus1
  bits.skipNumbers(3 * orders);
  bits.skipNumbers(4); // log2_(min|diff_max_min)_luma_(coding|transform)_block_size
  bits.skipNumbers(2); // max_transform_hierarchy_depth_inter, max_transform_hierarchy_depth_intra
  // scaling_list_enabled_flag: sps_scaling_list_data_present_flag
  if (bits.take(1) === 1 && bits.take(1) === 1) skipScaling(bits);
  bits.take(2); // amp_enabled_flag, sample_adaptive_offset_enabled_flag
  const hasUncompressed = bits.take(1) === 1; // pcm_enabled_flag
  if (hasUncompressed) {
    bits.take(4 + 4); // pcm_sample_bit_depth_luma_minus1, pcm_sample_bit_depth_chroma_minus1
    bits.skipNumbers(2); // log2_min_pcm_luma_coding_block_size_minus3, log2_diff_max_min_pcm_luma_coding_block_size
    bits.take(1); // pcm_loop_filter_disabled_flag
  }
  skipReferences(bits);
  const keepsForLong = bits.take(1) === 1; // long_term_ref_pics_present_flag
  if (keepsForLong) {
    const pictures = Math.min(MAX_PICTURES, bits.number()); // num_long_term_ref_pics_sps
    // lt_ref_pic_poc_lsb_sps, used_by_curr_pic_lt_sps_flag
    for (let picture = 0; picture < pictures; picture++) bits.take(Math.min(16, orderBits) + 1);
  }
  bits.take(2); // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
  return bits.take(1) === 1 ? readShape(bits) : 1; // vui_parameters_present_flag
}

/** The bits of the first sequence header among the units of the configuration. */
function findHeader(config: DataView): Bits | null {
  if (config.byteLength < 23) return null;
  let at = 23;
  for (let arrays = config.getUint8(22); arrays > 0 && at + 3 <= config.byteLength; arrays--) {
    const type = config.getUint8(at) & 63;
    let units = config.getUint16(at + 1);
    for (at += 3; units > 0 && at + 2 <= config.byteLength; units--) {
      const length = config.getUint16(at);
      at += 2;
      if (type === SEQUENCE_HEADER)
        return readBits(new DataView(config.buffer, config.byteOffset + at, config.byteLength - at), length);
      at += length;
    }
  }
  return null;
}

/** Profile, tier and level (7.3.3), of the stream and of its layers in time. */
function skipProfile(bits: Bits, layers: number): void {
  bits.take(88 + 8); // general_profile_space to general_level_idc
  // sub_layer_profile_present_flag, sub_layer_level_present_flag
  const has = Array.from({ length: layers }, () => [bits.take(1), bits.take(1)]);
  if (layers > 0) bits.take(2 * (8 - layers)); // reserved_zero_2bits
  for (const [profile, level] of has) bits.take((profile === 1 ? 88 : 0) + (level === 1 ? 8 : 0));
}

/** The scaling lists (7.3.4). */
function skipScaling(bits: Bits): void {
  for (let size = 0; size < 4; size++) {
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      if (bits.take(1) === 0)
        bits.number(); // scaling_list_pred_mode_flag: scaling_list_pred_matrix_id_delta
      // scaling_list_dc_coef_minus8, scaling_list_delta_coef
      else bits.skipNumbers((size > 1 ? 1 : 0) + Math.min(64, 1 << (4 + 2 * size)));
    }
  }
}

/** The short-term reference picture sets (7.3.7). One may be told by how it differs from the one before. */
function skipReferences(bits: Bits): void {
  const sets = Math.min(MAX_SETS, bits.number()); // num_short_term_ref_pic_sets
  for (let set = 0, before = 0; set < sets && !bits.isOver(); set++) {
    let pictures = 0;
    const isByAnother = set > 0 && bits.take(1) === 1; // inter_ref_pic_set_prediction_flag
    if (isByAnother) {
      bits.take(1); // delta_rps_sign
      bits.number(); // abs_delta_rps_minus1
      // used_by_curr_pic_flag, use_delta_flag
      for (let picture = 0; picture <= before; picture++) if (bits.take(1) === 1 || bits.take(1) === 1) pictures++;
    } else {
      pictures = Math.min(MAX_PICTURES, bits.number() + bits.number()); // num_negative_pics, num_positive_pics
      for (let picture = 0; picture < pictures; picture++) {
        bits.number(); // delta_poc_s0_minus1 or delta_poc_s1_minus1
        bits.take(1); // used_by_curr_pic_s0_flag or used_by_curr_pic_s1_flag
      }
    }
    before = pictures;
  }
}
