// mediabunny reads and writes MP4 itself, in streams, with no dependency and no WebAssembly, which the page's policy forbids.
import * as media from "mediabunny";
import { readAvcSampleAspectRatio } from "../../shared/media/avc-sps.ts";
import { readHevcSampleAspectRatio } from "../../shared/media/hevc-sps.ts";
import { openVideo, type OpenVideo } from "./open.ts";
import { originBox } from "./origin.ts";
import { FilmError, nameShot, type ShotFile, type Sink } from "./shots.ts";

const SOUND = { numberOfChannels: 2, sampleRate: 48_000 };

/** Packets of silence, by codec and channels (for AAC those of hls.js). Players do not keep sound in step across a gap. */
const SILENCE: Record<string, number[]> = {
  "opus 1": [0xf8, 0xff, 0xfe],
  "opus 2": [0xfc, 0xff, 0xfe],
  "mp4a.40.2 1": [0x00, 0xc8, 0x00, 0x80, 0x23, 0x80],
  "mp4a.40.2 2": [0x21, 0x00, 0x49, 0x90, 0x02, 0x19, 0x00, 0x23, 0x80],
};
/** `seconds`: one packet of silence. `most`: a packet's longest duration. */
const packetSeconds = ({ codec, sampleRate }: AudioDecoderConfig) =>
  codec === "opus"
    ? { seconds: 0.02, most: Number.POSITIVE_INFINITY }
    : { seconds: 1024 / sampleRate, most: 1024 / sampleRate };

/**
 * `start` and `end` are those of the shot's pictures, in seconds. Rotated and mirrored pictures are encoded again. So are pictures before 0,
 * which would be visible if they were copied.
 */
type Track = OpenVideo & { name: string; start: number; end: number; isPlain: boolean };
/** Writes a shot at second `from` of the film. */
type Write = (shot: Track, from: number) => Promise<void>;
type Writer<Source> = { source: Source; write: Write };

const cannotJoin = (reason: string) =>
  new FilmError("cannot_join", `This browser cannot join the shots: ${reason}. Download the zip of the shots instead.`);

/**
 * Joins videos into one MP4. Tracks with equal formats are copied; others are encoded again, in the size of the first shot. A shot is as
 * long as its pictures: its sound is cut or filled with silence.
 */
export async function writeMp4(files: ShotFile[], { write, onShot, signal }: Sink): Promise<void> {
  const inputs: media.Input[] = [];
  const shots: Track[] = [];
  const pause = pauses(signal);
  let length = 0;
  const target = new media.StreamTarget(
    new WritableStream<media.StreamTargetChunk>({
      write: async (chunk) => {
        length = Math.max(length, chunk.position + chunk.data.length);
        await write(chunk);
      },
    }),
  );
  const output = new media.Output({ format: new media.Mp4OutputFormat({ fastStart: false }), target });
  try {
    for (const { file, ...shot } of files) {
      await pause();
      const name = nameShot(shot);
      const opened = await openVideo(file);
      if (opened === null) throw cannotJoin(`${name}, is not a video that it can read`);
      inputs.push(opened.input);
      shots.push(await readShot(opened, name));
    }
    const video = await videoWriter(shots, pause);
    const sound = await soundWriter(shots, pause);
    output.addVideoTrack(video.source);
    if (sound) output.addAudioTrack(sound.source);
    await output.start();
    let from = 0;
    for (const [at, shot] of shots.entries()) {
      onShot(at);
      await Promise.all([video.write(shot, from), sound?.write(shot, from)]);
      from += shot.end - shot.start;
    }
    signal?.throwIfAborted();
    await output.finalize();
    await write({ type: "write", data: originBox(files), position: length });
  } catch (error) {
    await output.cancel().catch(() => undefined); // it rejects when the file has failed: the error says why
    throw error;
  } finally {
    for (const input of inputs) input.dispose();
  }
}

/** A Pause is called between two parts of the work. It yields to the page after this many ms, and rejects when the signal aborts. */
const MAX_WORK_MS = 10;
type Pause = () => Promise<void>;
function pauses(signal: AbortSignal | undefined): Pause {
  let since = performance.now();
  return async () => {
    if (performance.now() - since > MAX_WORK_MS) {
      await nextTask();
      since = performance.now();
    }
    signal?.throwIfAborted();
  };
}

/** Uses a message, because timers of a hidden page wait for a second. */
const nextTask = () =>
  new Promise<void>((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });

async function readShot(opened: OpenVideo, name: string): Promise<Track> {
  const { video, seconds } = opened;
  const first = await video.getFirstTimestamp();
  const start = Math.max(0, first);
  const isTurned = (await video.getRotation()) !== 0 || (await video.getFlip());
  const isPlain = first >= 0 && !isTurned && !(await hasHiddenShape(opened));
  return { ...opened, name, start, end: await readEnd(video, first, seconds), isPlain };
}

/** Whether the file declares square pixels but its stream declares others. mediabunny does not write square ones. */
async function hasHiddenShape({ video, size }: OpenVideo): Promise<boolean> {
  const config = await video.getDecoderConfig();
  const [, kind] = /^(avc1|hvc1|hev1)/.exec(config?.codec ?? "") ?? [];
  if (!kind || size.width !== config?.codedWidth || size.height !== config.codedHeight) return false;
  const { buffer, byteOffset, byteLength } = config.description as Uint8Array; // mediabunny gives bytes
  const read = kind === "avc1" ? readAvcSampleAspectRatio : readHevcSampleAspectRatio;
  return read(new DataView(buffer, byteOffset, byteLength)) !== 1;
}

/** The duration of a picture that states none. */
const ONE_PICTURE = 1 / 24;

/** A WebM may not say how long its last picture lasts; then it lasts until the end of the file. */
async function readEnd(video: media.InputVideoTrack, first: number, seconds: number | null): Promise<number> {
  const last = await new media.EncodedPacketSink(video).getPacket(Number.POSITIVE_INFINITY, { metadataOnly: true });
  const begin = last?.timestamp ?? first;
  if (last && last.duration > 0) return begin + last.duration;
  // A recording does not state its end, and its length counts from its first picture.
  return [seconds ?? 0, first + (seconds ?? 0)].find((end) => end > begin) ?? begin + ONE_PICTURE;
}

type Config = VideoDecoderConfig | AudioDecoderConfig;

/** The decoder configuration that all of these tracks share; null if they differ. */
async function sameConfig<Found extends Config>(tracks: { getDecoderConfig(): Promise<Found | null> }[]) {
  const configs = await Promise.all(tracks.map((track) => track.getDecoderConfig()));
  // mediabunny gives bytes, of the types that WebCodecs allows.
  const texts = configs.map((one) => JSON.stringify({ ...one, description: String(one?.description as Uint8Array) }));
  return texts.every((text) => text === texts[0]) ? (configs[0] ?? null) : null;
}

async function videoWriter(shots: Track[], pause: Pause): Promise<Writer<media.VideoSource>> {
  const [first] = shots;
  const codec = await first?.video.getCodec();
  if (!first || !codec) throw cannotJoin(`${first?.name}, has an unknown format`);
  const decoderConfig = await sameConfig(shots.map(({ video }) => video));
  // Few players support VP8 in an MP4.
  if (decoderConfig && codec !== "vp8" && shots.every(({ isPlain }) => isPlain)) {
    const source = new media.EncodedVideoPacketSource(codec);
    const write: Write = async ({ video, start, end }, from) => {
      for await (const packet of new media.EncodedPacketSink(video).packets()) {
        await pause();
        const duration = packet.duration || end - packet.timestamp;
        await source.add(packet.clone({ timestamp: from + packet.timestamp - start, duration }), { decoderConfig });
      }
    };
    return { source, write };
  }
  const even = (pixels: number) => pixels - (pixels % 2); // as encoders require
  const [width, height] = [even(first.size.width), even(first.size.height)];
  const made = await media.getFirstEncodableVideoCodec(["avc", "hevc", "vp9", "av1"], { width, height });
  if (!made) throw cannotJoin("their sizes or formats differ, and it has no encoder for video");
  for (const { name, video } of shots) {
    if (!(await video.canDecode())) throw cannotJoin(`it cannot play ${name}`);
  }
  const transform = { width, height, fit: "contain", force: true } as const;
  const looks = { codec: made, quality: media.QUALITY_HIGH, sizeChangeBehavior: "contain", transform } as const;
  const source = new media.VideoSampleSource(looks);
  const write: Write = async ({ video, start, end }, from) => {
    for await (const sample of new media.VideoSampleSink(video).samples(start)) {
      try {
        await pause();
        if (sample.duration === 0) sample.setDuration(end - sample.timestamp);
        sample.setTimestamp(from + sample.timestamp - start);
        await source.add(sample);
      } finally {
        sample.close();
      }
    }
  };
  return { source, write };
}

/** Returns null if no shot has sound. */
async function soundWriter(shots: Track[], pause: Pause): Promise<Writer<media.AudioSource> | null> {
  const tracks = shots.flatMap(({ sound }) => sound ?? []);
  if (!tracks[0]) return null;
  const codec = await tracks[0].getCodec();
  const decoderConfig = await sameConfig(tracks);
  const silence = SILENCE[`${decoderConfig?.codec} ${decoderConfig?.numberOfChannels}`];
  return codec && decoderConfig && silence
    ? copySound(codec, decoderConfig, new Uint8Array(silence), pause)
    : encodeSound(shots, pause);
}

function copySound(
  codec: media.AudioCodec,
  decoderConfig: AudioDecoderConfig,
  silence: Uint8Array,
  pause: Pause,
): Writer<media.AudioSource> {
  const source = new media.EncodedAudioPacketSource(codec);
  const { seconds, most } = packetSeconds(decoderConfig);
  // Packets follow each other without a gap; each begins within half a packet of its time.
  const half = seconds / 2;
  let end = 0;
  const add = async (packet: media.EncodedPacket) => {
    await pause();
    // A file may state a longer duration for a packet than its samples have: some players wait, others continue.
    const duration = Math.min(packet.duration, most);
    await source.add(packet.clone({ timestamp: end, duration }), { decoderConfig });
    end += duration;
  };
  const fill = async (until: number) => {
    while (end + half <= until) await add(new media.EncodedPacket(silence, "key", end, seconds));
  };
  const write: Write = async ({ sound, start, end: lastEnd }, from) => {
    const until = from + lastEnd - start;
    const packets = sound ? new media.EncodedPacketSink(sound).packets() : [];
    let last = seconds;
    for await (const packet of packets) {
      const at = from + packet.timestamp - start;
      // AAC begins with a packet before the film's first picture, which is decoded but not played.
      const isBefore = from === 0 && end === 0 && at < -half && at + packet.duration > -half;
      if (isBefore) end = -Math.min(packet.duration, most);
      else if (at < end - half || at + half > until) continue;
      await fill(at);
      await add(packet);
      last = packet.duration;
    }
    // The last packet may state an early end. Players play all of it.
    end += Math.max(0, seconds - last);
    await fill(until);
  };
  return { source, write };
}

async function encodeSound(shots: Track[], pause: Pause): Promise<Writer<media.AudioSource>> {
  const codec = await media.getFirstEncodableAudioCodec(["aac", "opus"], SOUND);
  if (!codec) throw cannotJoin("their sound differs, and it has no encoder for sound");
  for (const { name, sound } of shots) {
    if (sound && !(await sound.canDecode())) throw cannotJoin(`it cannot play the sound of ${name}`);
  }
  const source = new media.AudioBufferSource({ codec, quality: media.QUALITY_HIGH });
  let frames = 0;
  const write: Write = async (shot, from) => {
    await pause();
    const end = Math.round((from + shot.end - shot.start) * SOUND.sampleRate);
    const mixer = new OfflineAudioContext({ ...SOUND, length: end - frames });
    frames = end;
    const buffer = shot.sound && (await decodeSound(shot.sound, shot, pause));
    if (buffer) {
      const player = new AudioBufferSourceNode(mixer, { buffer });
      player.connect(mixer.destination);
      player.start();
    }
    await source.add(await mixer.startRendering());
  };
  return { source, write };
}

/** The sound of a shot, each part at its time, because decodeAudioData would move late parts to the front. */
async function decodeSound(sound: media.InputAudioTrack, { start, end }: Track, pause: Pause) {
  const sampleRate = await sound.getSampleRate();
  const frames = Math.ceil((end - start) * sampleRate);
  const whole = new AudioBuffer({ numberOfChannels: await sound.getNumberOfChannels(), sampleRate, length: frames });
  for await (const { buffer, timestamp } of new media.AudioBufferSink(sound).buffers(start, end)) {
    await pause();
    const at = Math.round((timestamp - start) * sampleRate);
    for (let channel = 0; channel < whole.numberOfChannels; channel++) {
      const samples = buffer.getChannelData(Math.min(channel, buffer.numberOfChannels - 1));
      if (at < frames) whole.copyToChannel(samples.subarray(Math.max(0, -at)), channel, Math.max(0, at));
    }
  }
  return whole;
}
