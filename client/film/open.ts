import type * as media from "mediabunny";
import { detectMedia, SIGNATURE_BYTES, type Size } from "../../shared/media/media.ts";
import { createVideoReader } from "../../shared/media/video-reader.ts";
import { chooseTracks, openInput } from "./fragments.ts";

/** A video with the tracks, size and colors that players choose and that the service has stored. */
export type OpenVideo = {
  input: media.Input;
  video: media.InputVideoTrack;
  sound: media.InputAudioTrack | null;
  size: Size;
  /** The duration of the whole file; null if it is not stated. */
  seconds: number | null;
};

/** Returns null for a file that is not a readable video. The caller disposes of `input`. */
export async function openVideo(file: Blob): Promise<OpenVideo | null> {
  const facts = await readFacts(file).catch(() => null); // UnusableMedia
  if (facts === null) return null;
  let input: media.Input | undefined;
  try {
    input = await openInput(file, facts);
    const { video, sound } = await chooseTracks(input, facts);
    if (video !== null) {
      const width = facts.width ?? (await video.getDisplayWidth());
      const size = { width, height: facts.height ?? (await video.getDisplayHeight()) };
      await decodeAsShown(video, size);
      return { input, video, sound, size, seconds: facts.durationSeconds };
    }
  } catch {
    // mediabunny cannot read it
  }
  input?.dispose();
  return null;
}

async function readFacts(file: Blob) {
  const reader = createVideoReader(detectMedia(new Uint8Array(await file.slice(0, SIGNATURE_BYTES).arrayBuffer())));
  if (reader === null) return null;
  const stream = file.stream().getReader(); // Safari cannot iterate over it
  for (let part = await stream.read(); !part.done; part = await stream.read()) reader.push(part.value);
  return { ...reader.end(), ...reader.tracks() };
}

/** mediabunny misses some forms of non-square pixels, and assumes HD colors for a file that states none. */
async function decodeAsShown(video: media.InputVideoTrack, size: Size): Promise<void> {
  const config = await video.getDecoderConfig();
  if (config === null) return;
  const isTurned = (await video.getRotation()) % 180 !== 0;
  const [displayAspectWidth, displayAspectHeight] = isTurned ? [size.height, size.width] : [size.width, size.height];
  const { primaries, transfer, matrix, fullRange } = config.colorSpace ?? {};
  // If a part is missing, Chromium ignores the others: it distinguishes SD and HD, and always decodes VP9 and AV1 as SD.
  const isHd = displayAspectHeight >= 720 && !/^(vp09|av01)/.test(config.codec);
  const name = isHd ? "bt709" : "smpte170m";
  const isStated = primaries && transfer && matrix;
  const colors = isStated
    ? { primaries, transfer, matrix }
    : ({ primaries: name, transfer: name, matrix: name } as const);
  const shown = {
    ...config,
    displayAspectWidth,
    displayAspectHeight,
    colorSpace: { ...colors, fullRange: fullRange ?? false },
  };
  video.getDecoderConfig = async () => shown;
}
