/** One packet of Opus: 20 ms of silence in one channel. */
const PACKET = [0xf8, 0xff, 0xfe];
const PACKET_SAMPLES = 960;
const RATE = 48_000;
const TRACK = 2;

/**
 * The MP4 with a silent sound track (Opus) beside its video track. For the files of h264-mp4-encoder: one video track, and `moov` after
 * all samples, so that nothing which is there has to move.
 */
export function addSilence(video: Uint8Array): Uint8Array<ArrayBuffer> {
  const boxes = readBoxes(video);
  const moov = boxes.find(({ type }) => type === "moov");
  if (!moov) throw new Error("the video has no box moov");
  const inner = readBoxes(moov.content);
  const header = inner.find(({ type }) => type === "mvhd")?.content.slice();
  if (!header) throw new Error("the video has no box mvhd");
  const view = new DataView(header.buffer);
  const [scale, duration] = [view.getUint32(12), view.getUint32(16)];
  view.setUint32(header.length - 4, TRACK + 1); // the next free track

  const packets = Math.max(1, Math.floor((duration / scale) * (RATE / PACKET_SAMPLES)));
  const before = video.subarray(0, moov.at);
  const samples = box("mdat", Array.from({ length: packets }, () => PACKET).flat());
  const rest = inner.filter(({ type }) => type !== "mvhd").flatMap(({ type, content }) => [...box(type, content)]);
  const sound = soundTrack(packets, duration, before.length + 8);
  const after = video.subarray(moov.at + 8 + moov.content.length);
  const parts = [before, samples, box("moov", box("mvhd", header), rest, sound), after];
  const made = new Uint8Array(parts.reduce((bytes, part) => bytes + part.length, 0));
  let at = 0;
  for (const part of parts) {
    made.set(part, at);
    at += part.length;
  }
  return made;
}

/** A box `trak` (ISO/IEC 14496-12, section 8, and "Encapsulation of Opus in ISO Base Media File Format"). */
function soundTrack(packets: number, movieDuration: number, samplesAt: number): number[] {
  const none = (bytes: number): number[] => Array(bytes).fill(0);
  const matrix = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].flatMap(u32);
  const track = [u32(7), none(8), u32(TRACK), none(4), u32(movieDuration), none(8), none(4), [1, 0], none(2)].flat();
  const media = [none(12), u32(RATE), u32(packets * PACKET_SAMPLES), [0x55, 0xc4], none(2)].flat();
  const opus = box("dOps", [0, 1], [1, 0x38], u32(RATE), none(3));
  const entry = box("Opus", none(6), [0, 1], none(8), [0, 1], [0, 16], none(4), [0xbb, 0x80, 0, 0], opus);
  const table = box(
    "stbl",
    box("stsd", none(4), u32(1), entry),
    box("stts", none(4), u32(1), u32(packets), u32(PACKET_SAMPLES)),
    box("stsc", none(4), u32(1), u32(1), u32(packets), u32(1)),
    box("stsz", none(4), u32(PACKET.length), u32(packets)),
    box("stco", none(4), u32(1), u32(samplesAt)),
  );
  const here = box("dinf", box("dref", none(4), u32(1), box("url ", [0, 0, 0, 1])));
  const information = box("minf", box("smhd", none(8)), here, table);
  const handler = box("hdlr", none(8), text("soun"), none(13));
  return box("trak", box("tkhd", track, matrix, none(8)), box("mdia", box("mdhd", media), handler, information));
}

const text = (letters: string) => [...letters].map((letter) => letter.charCodeAt(0));
const u32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];

function box(type: string, ...content: ArrayLike<number>[]): number[] {
  const body = content.flatMap((part) => Array.from(part));
  return [...u32(body.length + 8), ...text(type), ...body];
}

function readBoxes(bytes: Uint8Array): { type: string; at: number; content: Uint8Array }[] {
  const boxes = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 8 <= bytes.length; at += view.getUint32(at)) {
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    boxes.push({ type, at, content: bytes.subarray(at + 8, at + view.getUint32(at)) });
  }
  return boxes;
}
