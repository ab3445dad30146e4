import * as media from "mediabunny";

const formats = [media.MP4, media.QTFF, media.WEBM, media.MATROSKA];
const open = (file: Blob, initInput?: media.Input) =>
  new media.Input({ source: new media.BlobSource(file), formats, ...(initInput && { initInput }) });

/** The numbers of the file's tracks that are read. */
export type Chosen = { video: number | null; sound: number | null };

/** The tracks with these numbers, or the first one, because a copied file has no others. */
export async function chooseTracks(input: media.Input, { video, sound }: Chosen) {
  const [videos, sounds] = [await input.getVideoTracks(), sound === null ? [] : await input.getAudioTracks()];
  return {
    video: videos.find(({ id }) => id === video) ?? videos[0] ?? null,
    sound: sounds.find(({ id }) => id === sound) ?? sounds[0] ?? null,
  };
}

/**
 * Opens a video with mediabunny. If an MP4 has its first part in its header (`moov`) and the rest in fragments (`moof`), mediabunny reads
 * only the first part, so such a file is copied into one without fragments.
 */
export async function openInput(video: Blob, chosen: Chosen): Promise<media.Input> {
  const file = await withBrand(video);
  const header = await findHeader(file);
  if (header === null) return open(file);
  const whole = open(file);
  const rest = open(renamed(file, header, "free"), whole);
  try {
    const [first] = await rest.getTracks();
    const [same] = await whole.getTracks();
    if (!first || !same || (await first.getFirstTimestamp()) <= (await same.getFirstTimestamp())) return open(file);
    return open(await copyBoth([whole, rest], chosen));
  } finally {
    whole.dispose();
    rest.dispose();
  }
}

/** A box begins with its size, in four bytes, and its type. */
const renamed = (file: Blob, box: number, type: string, ...behind: Blob[]) =>
  new Blob([file.slice(0, box + 4), type, file.slice(box + 8), ...behind]);

/** The first boxes of an old QuickTime file without brands. mediabunny reads only files that begin with `ftyp`. */
const UNBRANDED = ["moov", "mdat", "wide", "free", "skip", "pnot"];

/** Renames the first box of such a file to `ftyp`. If it was `moov`, `moov` is repeated at the end. So no offset in the file changes. */
async function withBrand(file: Blob): Promise<Blob> {
  const view = new DataView(await file.slice(0, 8).arrayBuffer());
  const type = String.fromCharCode(...new Uint8Array(view.buffer, Math.min(4, view.byteLength)));
  if (!UNBRANDED.includes(type)) return file;
  return renamed(file, 0, "ftyp", ...(type === "moov" ? [file.slice(0, view.getUint32(0))] : []));
}

/** The position of the box `moov`; null unless a fragment follows it. */
async function findHeader(file: Blob): Promise<number | null> {
  let header: number | null = null;
  for (let at = 0; at + 8 <= file.size; ) {
    const view = new DataView(await file.slice(at, at + 16).arrayBuffer());
    const type = String.fromCharCode(...new Uint8Array(view.buffer, 4, 4));
    if (type === "moof") return header;
    if (type === "moov") header = at;
    const size = view.getUint32(0);
    const long = size === 1 && view.byteLength === 16 ? Number(view.getBigUint64(8)) : size;
    if (long < 8) break; // to the end of the file, or no box
    at += long;
  }
  return null;
}

async function copyBoth(parts: media.Input[], chosen: Chosen): Promise<Blob> {
  const target = new media.BufferTarget();
  const output = new media.Output({ format: new media.Mp4OutputFormat(), target });
  const writers: (() => Promise<void>)[] = [];
  const tracks = await Promise.all(parts.map((part) => chooseTracks(part, chosen)));
  const videos = tracks.flatMap(({ video }) => video ?? []);
  const sounds = tracks.flatMap(({ sound }) => sound ?? []);
  const videoCodec = await videos[0]?.getCodec();
  const videoConfig = await videos[0]?.getDecoderConfig();
  if (videos[0] && videoCodec && videoConfig) {
    const source = new media.EncodedVideoPacketSource(videoCodec);
    output.addVideoTrack(source, { transformationMatrix: await videos[0].getTransformationMatrix() });
    writers.push(() => copy(videos, (packet) => source.add(packet, { decoderConfig: videoConfig })));
  }
  const soundCodec = await sounds[0]?.getCodec();
  const soundConfig = await sounds[0]?.getDecoderConfig();
  if (soundCodec && soundConfig) {
    const source = new media.EncodedAudioPacketSource(soundCodec);
    output.addAudioTrack(source);
    writers.push(() => copy(sounds, (packet) => source.add(packet, { decoderConfig: soundConfig })));
  }
  await output.start();
  await Promise.all(writers.map((write) => write()));
  await output.finalize();
  return new Blob([target.buffer ?? new ArrayBuffer()]);
}

async function copy(tracks: media.InputTrack[], add: (packet: media.EncodedPacket) => Promise<void>): Promise<void> {
  for (const track of tracks) {
    for await (const packet of new media.EncodedPacketSink(track).packets()) await add(packet);
  }
}
