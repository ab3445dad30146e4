import { type MediaFacts, UnusableMedia } from "./media.ts";
import { type Box, readBoxes } from "./mp4-boxes.ts";

/** Size and duration from the content of a box `moov` (ISO/IEC 14496-12, section 8). Throws UnusableMedia. */
export function readMovie(moov: DataView): MediaFacts {
  try {
    const boxes = readBoxes(moov);
    const picture = boxes
      .filter(({ type }) => type === "trak")
      .map(readPicture)
      .find((size) => size !== null);
    const durationSeconds = readDuration(boxes);
    if (!picture) throw new UnusableMedia("The video has no picture.");
    // A time scale of 0 makes it NaN or Infinity, and neither is a number in JSON.
    if (!(durationSeconds > 0 && Number.isFinite(durationSeconds)))
      throw new UnusableMedia("The video has no duration.");
    return { ...picture, durationSeconds };
  } catch (error) {
    if (error instanceof RangeError) throw new UnusableMedia("The video's header is cut off.", { cause: error });
    throw error;
  }
}

/** Width and height of a video track, null for another track. Both are kept in 1/65536 pixels. */
function readPicture({ content }: Box): { width: number; height: number } | null {
  const boxes = readBoxes(content);
  const handler = find(readBoxes(find(boxes, "mdia")), "hdlr");
  if (handler.getUint32(8) !== 0x76696465) return null; // "vide"
  const track = find(boxes, "tkhd");
  const at = isWide(track) ? 88 : 76;
  const width = Math.round(track.getUint32(at) / 65536);
  const height = Math.round(track.getUint32(at + 4) / 65536);
  return width > 0 && height > 0 ? { width, height } : null;
}

/** Seconds. A file in fragments may keep its duration in `mehd` instead. */
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
