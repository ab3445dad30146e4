import * as media from "mediabunny";

/** One packet of Opus: 20 ms of silence in one channel. */
const PACKET = Uint8Array.of(0xf8, 0xff, 0xfe);
const PACKET_SECONDS = 0.02;
/** OpusHead (RFC 7845): one channel, 48 kHz, and no samples to skip. Without it, mediabunny writes that 80 ms are to be skipped. */
const description = Uint8Array.from("OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0", (one) => one.charCodeAt(0));
const OPUS = { decoderConfig: { codec: "opus", sampleRate: 48_000, numberOfChannels: 1, description } };

/** The MP4 with a silent sound track beside its video track. */
export async function addSilence(video: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
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
