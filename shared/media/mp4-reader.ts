import { type MediaFacts, type MediaReader, UnusableMedia } from "./media.ts";

/** `moov` lists every sample: a few megabytes for an hour of video. */
const MAX_MOVIE_BYTES = 16 * 1024 * 1024;

/**
 * Reads the size and duration of an MP4 and whether it has sound, wherever its `moov` is, and checks that it is complete: the last box ends with the file.
 * Reads only the headers of other boxes.
 * No library bounds its work so: mp4box takes 1.1 GB and 7 s for a hostile file of 416 bytes; mediabunny adds 30 ms and 20 MB to the
 * start of a function that answers after 80 ms.
 */
export function createMp4Reader(): MediaReader {
  const header = new DataView(new ArrayBuffer(16));
  let headerFilled = 0;
  /** Remaining bytes of the present box; Infinity when it extends to the end of the file. */
  let left = 0;
  /** Grows as bytes arrive, so a box that only claims to be large costs nothing. */
  const movie = new ArrayBuffer(0, { maxByteLength: MAX_MOVIE_BYTES });
  let hasMovie = false;
  let inMovie = false;
  let hasSamples = false;

  function open(): void {
    const { type, headerBytes, size } = readBoxHeader(header);
    left = size === null ? Number.POSITIVE_INFINITY : size - headerBytes;
    headerFilled = 0;
    hasSamples ||= type === "mdat";
    inMovie = type === "moov";
    if (inMovie && hasMovie) throw new UnusableMedia("The video has two headers.");
    hasMovie ||= inMovie;
  }

  function keep(part: Uint8Array): void {
    const kept = movie.byteLength;
    if (kept + part.byteLength > MAX_MOVIE_BYTES) throw new UnusableMedia("The video's header is too large.");
    movie.resize(kept + part.byteLength);
    new Uint8Array(movie, kept).set(part);
  }

  return {
    push(chunk) {
      let offset = 0;
      while (offset < chunk.byteLength) {
        if (left > 0) {
          const part = chunk.subarray(offset, offset + Math.min(left, chunk.byteLength - offset));
          if (inMovie) keep(part);
          left -= part.byteLength;
          offset += part.byteLength;
          continue;
        }
        header.setUint8(headerFilled++, chunk[offset++] ?? 0);
        if (headerFilled === (headerFilled >= 8 && isLarge(header) ? 16 : 8)) open();
      }
    },
    end() {
      if (headerFilled > 0 || (left > 0 && left !== Number.POSITIVE_INFINITY))
        throw new UnusableMedia("The video is cut off.");
      if (!hasMovie || !hasSamples) throw new UnusableMedia("The video has no header or no content.");
      return readMovie(new DataView(movie));
    },
  };
}

/** The facts from the content of a box `moov` (ISO/IEC 14496-12, section 8). Throws UnusableMedia. */
function readMovie(moov: DataView): MediaFacts {
  try {
    const boxes = readBoxes(moov);
    const tracks = boxes.filter(({ type }) => type === "trak").map(readTrack);
    const picture = tracks.find(({ size }) => size !== null)?.size;
    const durationSeconds = readDuration(boxes);
    if (!picture) throw new UnusableMedia("The video has no picture.");
    // A time scale of 0 gives NaN or Infinity, which JSON does not have.
    if (!(durationSeconds > 0 && Number.isFinite(durationSeconds)))
      throw new UnusableMedia("The video has no duration.");
    return { ...picture, durationSeconds, hasAudio: tracks.some(({ isSound }) => isSound) };
  } catch (error) {
    if (error instanceof RangeError) throw new UnusableMedia("The video's header is cut off.", { cause: error });
    throw error;
  }
}

type Track = { isSound: boolean; size: { width: number; height: number } | null };

/** Width and height of a video track are stored in 1/65536 pixels. */
function readTrack({ content }: Box): Track {
  const boxes = readBoxes(content);
  const handler = find(readBoxes(find(boxes, "mdia")), "hdlr").getUint32(8);
  if (handler !== 0x76696465) return { isSound: handler === 0x736f756e, size: null }; // "vide", "soun"
  const track = find(boxes, "tkhd");
  const at = isWide(track) ? 88 : 76;
  const width = Math.round(track.getUint32(at) / 65536);
  const height = Math.round(track.getUint32(at + 4) / 65536);
  return { isSound: false, size: width > 0 && height > 0 ? { width, height } : null };
}

/** Seconds. A fragmented file may have its duration in `mehd`. */
function readDuration(boxes: Box[]): number {
  const movie = find(boxes, "mvhd");
  const wide = isWide(movie);
  const scale = movie.getUint32(wide ? 20 : 12);
  const units = wide ? readWide(movie, 24) : readNarrow(movie, 16);
  const extends_ = boxes.find(({ type }) => type === "mvex");
  const fragments = extends_ && readBoxes(extends_.content).find(({ type }) => type === "mehd")?.content;
  const inFragments = fragments ? (isWide(fragments) ? readWide(fragments, 4) : readNarrow(fragments, 4)) : 0;
  return (units || inFragments) / scale;
}

/** Version 1 has 64-bit times. All bits set mean unknown, read here as 0. */
const isWide = (box: DataView) => box.getUint8(0) === 1;
const readNarrow = (box: DataView, at: number) => (box.getUint32(at) === 0xffffffff ? 0 : box.getUint32(at));
const readWide = (box: DataView, at: number) => {
  const units = box.getBigUint64(at);
  return units === 0xffffffffffffffffn ? 0 : Number(units);
};

function find(boxes: Box[], type: string): DataView {
  const box = boxes.find((one) => one.type === type);
  if (!box) throw new UnusableMedia(`The video lacks the box ${type}.`);
  return box.content;
}

type Box = { type: string; content: DataView };

/** The boxes of ISO/IEC 14496-12 in order. Throws UnusableMedia when one exceeds the view. */
function readBoxes(view: DataView): Box[] {
  const boxes: Box[] = [];
  let offset = 0;
  while (offset + 8 <= view.byteLength) {
    const { type, headerBytes, size } = readBoxHeader(new DataView(view.buffer, view.byteOffset + offset));
    const end = size === null ? view.byteLength : offset + size;
    if (end > view.byteLength) throw new UnusableMedia(`The video's box ${type} does not fit into the one around it.`);
    boxes.push({
      type,
      content: new DataView(view.buffer, view.byteOffset + offset + headerBytes, end - offset - headerBytes),
    });
    offset = end;
  }
  return boxes;
}

/** `size` counts the header too; null means up to the end of the file. Needs 8 bytes, 16 when {@link isLarge}. */
function readBoxHeader(view: DataView): { type: string; headerBytes: number; size: number | null } {
  const type = String.fromCharCode(view.getUint8(4), view.getUint8(5), view.getUint8(6), view.getUint8(7));
  const headerBytes = isLarge(view) ? 16 : 8;
  const size = isLarge(view) ? Number(view.getBigUint64(8)) : view.getUint32(0) || null;
  if (size !== null && size < headerBytes) throw new UnusableMedia("The video has a box smaller than its own header.");
  return { type, headerBytes, size };
}

/** A size of 1 means that the real size, in 64 bits, follows the type. */
function isLarge(view: DataView): boolean {
  return view.getUint32(0) === 1;
}
