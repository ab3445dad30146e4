import { loadImage } from "@napi-rs/canvas";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { compareVideo } from "./compare-video.ts";

/** Two pictures of one scene differ by less than this (H.264 is lossy); pictures of two scenes by more than the other end. */
const SAME = 0.06;

/** Decodes a frame and compares its size with what the API said. Returns `width × height`. */
export async function checkFrame(file: Uint8Array, { step, output }: Prediction): Promise<string> {
  const { width, height } = await loadImage(file);
  if (width !== output?.width || height !== output.height) {
    throw new Error(`The ${step} is ${width} × ${height}, not ${output?.width} × ${output?.height}.`);
  }
  return `${width} × ${height}`;
}

/** Decodes the video in a browser: size and duration as the API said, first picture = first frame, last picture = last frame. */
export async function checkVideo(
  file: Uint8Array,
  first: Uint8Array,
  last: Uint8Array,
  { output }: Prediction,
  signal?: AbortSignal,
): Promise<string> {
  const seen = await compareVideo(file, first, last, signal);
  if (seen.width !== output?.width || seen.height !== output.height) {
    throw new Error(`The video is ${seen.width} × ${seen.height}, not ${output?.width} × ${output?.height}.`);
  }
  if (Math.abs(seen.durationSeconds - (output.durationSeconds ?? 0)) > 0.1) {
    throw new Error(`The video takes ${seen.durationSeconds} s, not ${output.durationSeconds} s.`);
  }
  if (seen.startToFirst > SAME || seen.startToFirst >= seen.startToLast) {
    throw new Error(`The video does not begin with the first frame (difference ${seen.startToFirst.toFixed(3)}).`);
  }
  if (seen.endToLast > SAME || seen.endToLast >= seen.endToFirst) {
    throw new Error(`The video does not end with the last frame (difference ${seen.endToLast.toFixed(3)}).`);
  }
  return `${seen.durationSeconds.toFixed(1)} s, begins with the first frame, ends with the last`;
}
