import { createRbspReader, type RbspReader, readSampleAspectRatio } from "./avc-sps.ts";

const SPS_NUT = 33;
/** The limit of num_short_term_ref_pic_sets. */
const MAX_SHORT_TERM_REF_PIC_SETS = 64;
/** The limit of num_long_term_ref_pics_sps; a short-term set has fewer pictures. */
const MAX_REF_PICS = 32;

/**
 * Sample aspect ratio (width ÷ height) from the first SPS (ITU-T H.265, 7.3.2.2) in an `hvcC`, the HEVCDecoderConfigurationRecord of
 * ISO/IEC 14496-15; 1 if absent or unreadable.
 */
export function readHevcSampleAspectRatio(hvcC: DataView): number {
  const rbsp = findSps(hvcC);
  if (rbsp === null) return 1;
  rbsp.readBits(16 + 4); // nal_unit_header, sps_video_parameter_set_id
  const maxSubLayersMinus1 = rbsp.readBits(3);
  rbsp.readBits(1); // sps_temporal_id_nesting_flag
  skipProfileTierLevel(rbsp, maxSubLayersMinus1);
  rbsp.readUe(); // sps_seq_parameter_set_id
  const chromaFormatIdc = rbsp.readUe();
  if (chromaFormatIdc === 3) rbsp.readBits(1); // separate_colour_plane_flag
  rbsp.skipUe(2); // pic_width_in_luma_samples, pic_height_in_luma_samples
  const conformanceWindowFlag = rbsp.readFlag();
  if (conformanceWindowFlag) rbsp.skipUe(4); // conf_win_(left|right|top|bottom)_offset
  rbsp.skipUe(2); // bit_depth_luma_minus8, bit_depth_chroma_minus8
  const picOrderCntLsbBits = rbsp.readUe() + 4; // log2_max_pic_order_cnt_lsb_minus4
  const subLayerOrderingInfoPresentFlag = rbsp.readFlag();
  // sps_max_dec_pic_buffering_minus1, sps_max_num_reorder_pics, sps_max_latency_increase_plus1
  rbsp.skipUe(3 * (subLayerOrderingInfoPresentFlag ? maxSubLayersMinus1 + 1 : 1));
  rbsp.skipUe(4); // log2_(min|diff_max_min)_luma_(coding|transform)_block_size
  rbsp.skipUe(2); // max_transform_hierarchy_depth_inter, max_transform_hierarchy_depth_intra
  const scalingListEnabledFlag = rbsp.readFlag();
  if (scalingListEnabledFlag && rbsp.readFlag()) skipScalingListData(rbsp); // sps_scaling_list_data_present_flag
  rbsp.readBits(2); // amp_enabled_flag, sample_adaptive_offset_enabled_flag
  const pcmEnabledFlag = rbsp.readFlag();
  if (pcmEnabledFlag) {
    rbsp.readBits(4 + 4); // pcm_sample_bit_depth_luma_minus1, pcm_sample_bit_depth_chroma_minus1
    rbsp.skipUe(2); // log2_min_pcm_luma_coding_block_size_minus3, log2_diff_max_min_pcm_luma_coding_block_size
    rbsp.readBits(1); // pcm_loop_filter_disabled_flag
  }
  skipShortTermRefPicSets(rbsp);
  const longTermRefPicsPresentFlag = rbsp.readFlag();
  if (longTermRefPicsPresentFlag) {
    const numLongTermRefPics = Math.min(MAX_REF_PICS, rbsp.readUe()); // num_long_term_ref_pics_sps
    // lt_ref_pic_poc_lsb_sps, used_by_curr_pic_lt_sps_flag
    for (let pic = 0; pic < numLongTermRefPics; pic++) rbsp.readBits(Math.min(16, picOrderCntLsbBits) + 1);
  }
  rbsp.readBits(2); // sps_temporal_mvp_enabled_flag, strong_intra_smoothing_enabled_flag
  const vuiParametersPresentFlag = rbsp.readFlag();
  return vuiParametersPresentFlag ? readSampleAspectRatio(rbsp) : 1;
}

/** The first SPS in the arrays of NAL units. */
function findSps(hvcC: DataView): RbspReader | null {
  if (hvcC.byteLength < 23) return null;
  let at = 23;
  for (let numOfArrays = hvcC.getUint8(22); numOfArrays > 0 && at + 3 <= hvcC.byteLength; numOfArrays--) {
    const nalUnitType = hvcC.getUint8(at) & 63;
    let numNalus = hvcC.getUint16(at + 1);
    for (at += 3; numNalus > 0 && at + 2 <= hvcC.byteLength; numNalus--) {
      const nalUnitLength = hvcC.getUint16(at);
      at += 2;
      if (nalUnitType === SPS_NUT)
        return createRbspReader(new DataView(hvcC.buffer, hvcC.byteOffset + at, hvcC.byteLength - at), nalUnitLength);
      at += nalUnitLength;
    }
  }
  return null;
}

/** profile_tier_level() (7.3.3) */
function skipProfileTierLevel(rbsp: RbspReader, maxSubLayersMinus1: number): void {
  rbsp.readBits(88 + 8); // general_profile_space to general_level_idc
  // sub_layer_profile_present_flag, sub_layer_level_present_flag
  const subLayers = Array.from({ length: maxSubLayersMinus1 }, () => [rbsp.readFlag(), rbsp.readFlag()]);
  if (maxSubLayersMinus1 > 0) rbsp.readBits(2 * (8 - maxSubLayersMinus1)); // reserved_zero_2bits
  for (const [hasProfile, hasLevel] of subLayers) rbsp.readBits((hasProfile ? 88 : 0) + (hasLevel ? 8 : 0));
}

/** scaling_list_data() (7.3.4) */
function skipScalingListData(rbsp: RbspReader): void {
  for (let sizeId = 0; sizeId < 4; sizeId++) {
    for (let matrixId = 0; matrixId < 6; matrixId += sizeId === 3 ? 3 : 1) {
      const scalingListPredModeFlag = rbsp.readFlag();
      if (!scalingListPredModeFlag)
        rbsp.readUe(); // scaling_list_pred_matrix_id_delta
      // scaling_list_dc_coef_minus8, scaling_list_delta_coef
      else rbsp.skipUe((sizeId > 1 ? 1 : 0) + Math.min(64, 1 << (4 + 2 * sizeId)));
    }
  }
}

/** Skips st_ref_pic_set() (7.3.7) of each set. A set may be predicted from the set before it. */
function skipShortTermRefPicSets(rbsp: RbspReader): void {
  const numSets = Math.min(MAX_SHORT_TERM_REF_PIC_SETS, rbsp.readUe()); // num_short_term_ref_pic_sets
  for (let set = 0, refNumDeltaPocs = 0; set < numSets && !rbsp.isPastEnd(); set++) {
    let numDeltaPocs = 0;
    const interRefPicSetPredictionFlag = set > 0 && rbsp.readFlag();
    if (interRefPicSetPredictionFlag) {
      rbsp.readBits(1); // delta_rps_sign
      rbsp.readUe(); // abs_delta_rps_minus1
      // used_by_curr_pic_flag, use_delta_flag
      for (let pic = 0; pic <= refNumDeltaPocs; pic++) if (rbsp.readFlag() || rbsp.readFlag()) numDeltaPocs++;
    } else {
      numDeltaPocs = Math.min(MAX_REF_PICS, rbsp.readUe() + rbsp.readUe()); // num_negative_pics, num_positive_pics
      for (let pic = 0; pic < numDeltaPocs; pic++) {
        rbsp.readUe(); // delta_poc_s0_minus1 or delta_poc_s1_minus1
        rbsp.readBits(1); // used_by_curr_pic_s0_flag or used_by_curr_pic_s1_flag
      }
    }
    refNumDeltaPocs = numDeltaPocs;
  }
}
