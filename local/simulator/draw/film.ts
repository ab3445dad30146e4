import { createCanvas } from "@napi-rs/canvas";
import h264 from "h264-mp4-encoder";
import * as media from "mediabunny";
import { randomId } from "../random.ts";
import { cover, paintSeed, type Picture } from "./picture.ts";

/** How a film is cut, whether it has a sound track, and what tells it from another take. */
export type FilmPlan = { width: number; height: number; frames: number; fps: number; sound: boolean; seed: number };

/**
 * Draws an MP4 (H.264, with silence as sound) that zooms into the first image while the last one fades in. It begins with exactly the first
 * image and ends with exactly the last one, and has the light of its seed between them. Between two frames the server can answer. Rejects
 * with the signal's reason.
 */
export async function drawFilm(
  plan: FilmPlan,
  [first, last]: readonly [Picture, Picture | undefined],
  onProgress: (frame: number) => void,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { width, height, frames, fps, seed } = plan;
  const ctx = createCanvas(width, height).getContext("2d");
  const encoder = await h264.createH264MP4Encoder();
  // All encoders share one in-memory file system; the name keeps them apart.
  const file = `${randomId()}.mp4`;
  Object.assign(encoder, { outputFilename: file, width, height, frameRate: fps });
  Object.assign(encoder, { speed: 7, quantizationParameter: 24, groupOfPictures: 12 });
  encoder.initialize();
  try {
    for (let frame = 0; frame < frames && !signal.aborted; frame++) {
      const at = frame / (frames - 1);
      const eased = at * at * (3 - 2 * at);
      cover(ctx, first, [0, 0, width, height], 1 + 0.14 * eased);
      if (last) {
        ctx.globalAlpha = eased;
        cover(ctx, last, [0, 0, width, height], 1 + 0.14 * (1 - eased));
        ctx.globalAlpha = 1;
      }
      if (frame > 0 && frame < frames - 1) paintSeed(ctx, seed, Math.sin(Math.PI * at));
      encoder.addFrameRgba(ctx.canvas.data());
      onProgress(frame + 1);
      await new Promise((resolve) => setTimeout(resolve));
    }
    // A canceled film is finalized too: the encoder must not be deleted while it is at work.
    encoder.finalize();
    signal.throwIfAborted();
    // The bytes are copied, because the file system frees its own array.
    const made = new Uint8Array(encoder.FS.readFile(file));
    return plan.sound ? await addSilence(made) : made;
  } finally {
    encoder.FS.unlink(file);
    encoder.delete();
  }
}

/** One packet of Opus: 20 ms of silence in one channel. */
const PACKET = Uint8Array.of(0xf8, 0xff, 0xfe);
const PACKET_SECONDS = 0.02;
/** OpusHead (RFC 7845): one channel, 48 kHz, and no samples to skip. Without it, mediabunny writes that 80 ms are to be skipped. */
const description = Uint8Array.from("OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0", (one) => one.charCodeAt(0));
const OPUS = { decoderConfig: { codec: "opus", sampleRate: 48_000, numberOfChannels: 1, description } };

/** The MP4 with a silent sound track beside its video track. */
async function addSilence(video: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const input = new media.Input({ formats: [media.MP4], source: new media.BufferSource(video) });
  const track = await input.getPrimaryVideoTrack();
  const decoderConfig = await track?.getDecoderConfig();
  if (!track || !decoderConfig) throw new Error("the video has no track");
  const target = new media.BufferTarget();
  const output = new media.Output({ format: new media.Mp4OutputFormat(), target });
  const [pictures, sound] = [new media.EncodedVideoPacketSource("avc"), new media.EncodedAudioPacketSource("opus")];
  output.addVideoTrack(pictures);
  output.addAudioTrack(sound);
  await output.start();
  for await (const packet of new media.EncodedPacketSink(track).packets()) {
    await pictures.add(packet, { decoderConfig });
  }
  const packets = Math.max(1, Math.floor((await input.computeDuration()) / PACKET_SECONDS));
  for (let i = 0; i < packets; i++) {
    await sound.add(new media.EncodedPacket(PACKET, "key", i * PACKET_SECONDS, PACKET_SECONDS), OPUS);
  }
  await output.finalize();
  return new Uint8Array(target.buffer ?? new ArrayBuffer());
}
