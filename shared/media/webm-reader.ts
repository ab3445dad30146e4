import {
  chooseDuration,
  collectBytes,
  MAX_HEADER_BYTES,
  type Size,
  shownSize,
  UNKNOWN,
  UnusableMedia,
  type VideoReader,
} from "./media.ts";

/** In one element: a megabyte of empty ones would take 50 MB. */
const MAX_ELEMENTS = 10_000;
/** In a file: an hour of video has fewer. The 13 million of a hostile file would take 5 s. */
const MAX_ELEMENTS_IN_ALL = 300_000;
/** The longest header of an element: four bytes of its name, eight of its size. */
const ELEMENT_HEADER_BYTES = 12;
/** The number of the track, a time and flags, with which a block begins. */
const BLOCK_HEADER_BYTES = 12;

/** RFC 9559. */
const ID = {
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  track: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
  displayWidth: 0x54b0,
  displayHeight: 0x54ba,
  displayUnit: 0x54b2,
  stereoMode: 0x53b8,
  cropTop: 0x54bb,
  cropBottom: 0x54aa,
  cropLeft: 0x54cc,
  cropRight: 0x54dd,
  projection: 0x7670,
  poseRoll: 0x7675,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
};
/** What is in these is read as if it stood beside them, so it does not matter whether they say how long they are. */
const OPENED = [ID.segment, ID.cluster, ID.blockGroup];
const KEPT = [ID.info, ID.tracks, ID.timestamp];
const BLOCKS = [ID.block, ID.simpleBlock];

const NO_PICTURES = { count: 0, first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };

/**
 * Reads the size and duration of a WebM or Matroska file and whether it has sound. Refuses no more than a player does: where it is cut
 * off or cannot be read any further is a note. Reads the headers and the first bytes of each block: at most MAX_HEADER_BYTES are in
 * memory. mediabunny is not used for what mp4-reader.ts says, and because it reads back and forth in a file that passes once.
 */
export function createWebmReader(): VideoReader {
  const header = new DataView(new ArrayBuffer(ELEMENT_HEADER_BYTES));
  let filled = 0;
  let elements = 0;
  let id = 0;
  /** Remaining bytes of the present element. */
  let left = 0;
  /** Bytes of the present element that are still to be kept. */
  let toKeep = 0;
  let position = 0;
  /** Where the segment ends; Infinity when it does not say it. */
  let end = Number.POSITIVE_INFINITY;
  const kept = collectBytes(MAX_HEADER_BYTES);
  let info: Info | null = null;
  let tracks: Tracks | null = null;
  let cluster = 0;
  const pictures = { ...NO_PICTURES };
  let note: string | undefined;

  function open(element: { id: number; size: number | null }): void {
    filled = 0;
    id = element.id;
    if (++elements > MAX_ELEMENTS_IN_ALL) {
      stop("too_many_elements");
      return;
    }
    if (id === ID.segment && element.size !== null) end = position + element.size;
    if (OPENED.includes(id)) return;
    if (element.size === null) {
      stop("element_without_size");
      return;
    }
    left = element.size;
    toKeep = KEPT.includes(id) ? left : BLOCKS.includes(id) ? Math.min(left, BLOCK_HEADER_BYTES) : 0;
    if (toKeep <= MAX_HEADER_BYTES) return;
    toKeep = 0;
    note = "header_too_large";
  }

  /** The rest is not read. */
  function stop(why: string): void {
    filled = 0;
    end = position;
    note = why;
  }

  function keep(part: Uint8Array): void {
    kept.add(part);
    toKeep -= part.byteLength;
    if (toKeep > 0) return;
    const content = kept.take();
    if (id === ID.info) info ??= readInfo(content);
    else if (id === ID.tracks) tracks ??= readTracks(content);
    else if (id === ID.timestamp) cluster = readUnsigned(content);
    else countPicture(content);
  }

  function countPicture(block: DataView): void {
    const number = readNumber(block, 0);
    if (number === null || block.byteLength < number.bytes + 2) return;
    if (tracks?.video?.number !== number.value) return;
    const time = cluster + block.getInt16(number.bytes);
    pictures.count += 1;
    pictures.first = Math.min(pictures.first, time);
    pictures.last = Math.max(pictures.last, time);
  }

  return {
    push(chunk) {
      for (let offset = 0; offset < chunk.byteLength; ) {
        if (position >= end) {
          note ??= "bytes_after_end";
          return;
        }
        if (left > 0) {
          const part = chunk.subarray(offset, offset + Math.min(left, chunk.byteLength - offset));
          if (toKeep > 0) keep(part.subarray(0, toKeep));
          left -= part.byteLength;
          offset += part.byteLength;
          position += part.byteLength;
          continue;
        }
        header.setUint8(filled++, chunk[offset++] ?? 0);
        position += 1;
        const element = readHeader(header, filled);
        if (element === "broken") {
          if (pictures.count === 0) throw new UnusableMedia("The video has an element that cannot be read.");
          stop("bytes_after_end"); // of a segment of unknown length
        } else if (element !== null) open(element);
      }
    },
    end() {
      if (filled > 0 || left > 0 || (end !== Number.POSITIVE_INFINITY && position < end)) note = "cut_off";
      const size = tracks?.video?.size ?? null;
      const hasAudio = tracks && tracks.sound !== undefined;
      if (note === "header_too_large" && tracks === null) return { ...UNKNOWN, note };
      if (!hasAudio && (size === null || pictures.count === 0))
        throw new UnusableMedia("The video is cut off, or has no header or no pictures.");
      const { count, first, last } = note === "too_many_elements" ? NO_PICTURES : pictures; // not all are counted
      const seconds = (units: number) => (units * (info?.unit ?? 1e6)) / 1e9;
      // The last picture is as long as the others are on average.
      const duration = chooseDuration(
        seconds(info?.duration ?? 0),
        count > 1 ? seconds(last - first + (last - first) / (count - 1)) : 0,
      );
      const sides = size ?? { ...UNKNOWN, note: "no_sides" };
      return { ...sides, ...duration, hasAudio, ...(note !== undefined && { note }) };
    },
    tracks: () => ({ video: tracks?.video?.number ?? null, sound: tracks?.sound?.number ?? null }),
  };
}

/** `unit` is that of all times, in nanoseconds; a `duration` of 0 is unknown. */
type Info = { unit: number; duration: number };
/** Players choose the first of each kind. */
type Tracks = { video: Track | undefined; sound: Track | undefined };
type Track = { number: number; type: number; size: Size | null };
const [VIDEO, SOUND] = [1, 2];

function readInfo(content: DataView): Info {
  const elements = readElements(content);
  const duration = elements.get(ID.duration)?.[0];
  const scale = elements.get(ID.timestampScale)?.[0];
  return {
    unit: scale ? readUnsigned(scale) : 1e6,
    duration: readFloat(duration),
  };
}

function readTracks(content: DataView): Tracks {
  const tracks = (readElements(content).get(ID.track) ?? []).map(readTrack);
  return {
    video: tracks.find(({ size }) => size !== null),
    sound: tracks.find(({ type }) => type === SOUND),
  };
}

function readTrack(content: DataView): Track {
  const elements = readElements(content);
  const type = numberIn(elements, ID.trackType);
  const video = type === VIDEO ? elements.get(ID.video)?.[0] : undefined;
  return { number: numberIn(elements, ID.trackNumber), type, size: video ? readSize(readElements(video)) : null };
}

/** Units of the display's sides: pixels, of which those that are cropped do not count by default, and one that says nothing. */
const [PIXELS, UNKNOWN_UNIT] = [0, 4];
/** Where two pictures, for two eyes, stand beside or above each other, the display's side counts for one of them. */
const [TWICE_AS_WIDE, TWICE_AS_TALL] = [
  [1, 8, 9, 11],
  [2, 3, 6, 7],
];

/**
 * The display's sides tell the shape of a pixel: they may be in pixels, in centimetres, or a ratio. Players show also what is to be cropped.
 * A quarter turn, in degrees, exchanges the sides.
 */
function readSize(video: Elements): Size | null {
  const coded = { width: numberIn(video, ID.pixelWidth), height: numberIn(video, ID.pixelHeight) };
  const seen = {
    width: coded.width - numberIn(video, ID.cropLeft) - numberIn(video, ID.cropRight),
    height: coded.height - numberIn(video, ID.cropTop) - numberIn(video, ID.cropBottom),
  };
  const [unit, stereo] = [numberIn(video, ID.displayUnit), numberIn(video, ID.stereoMode)];
  const across = numberIn(video, ID.displayWidth) || (unit === PIXELS ? seen.width : 0);
  const down = numberIn(video, ID.displayHeight) || (unit === PIXELS ? seen.height : 0);
  const eyes = TWICE_AS_WIDE.includes(stereo) ? 2 : TWICE_AS_TALL.includes(stereo) ? 0.5 : 1;
  const ratio = (eyes * across * seen.height) / (down * seen.width);
  const size = shownSize(coded, unit < UNKNOWN_UNIT && across > 0 && down > 0 ? ratio : 1);
  const projection = video.get(ID.projection)?.[0];
  const roll = projection && readFloat(readElements(projection).get(ID.poseRoll)?.[0]);
  return size && roll && Math.abs(roll) % 180 === 90 ? { width: size.height, height: size.width } : size;
}

type Elements = Map<number, DataView[]>;

/** By their names, as far as they can be read, and no more than MAX_ELEMENTS. */
function readElements(view: DataView): Elements {
  const elements: Elements = new Map();
  for (let at = 0, count = 0; at < view.byteLength && count < MAX_ELEMENTS; count++) {
    const rest = new DataView(view.buffer, view.byteOffset + at);
    const length = Math.min(ELEMENT_HEADER_BYTES, view.byteLength - at);
    const element = readHeader(rest, length);
    if (element === null || element === "broken" || element.size === null) break;
    const content = at + element.bytes;
    if (content + element.size > view.byteLength) break;
    const found = elements.get(element.id) ?? [];
    found.push(new DataView(view.buffer, view.byteOffset + content, element.size));
    elements.set(element.id, found);
    at = content + element.size;
  }
  return elements;
}

const numberIn = (elements: Elements, id: number): number => {
  const [content] = elements.get(id) ?? [];
  return content ? readUnsigned(content) : 0;
};

const readFloat = (view: DataView | undefined): number =>
  view?.byteLength === 8 ? view.getFloat64(0) : view?.byteLength === 4 ? view.getFloat32(0) : 0;

/** Numbers have up to eight bytes. */
function readUnsigned(view: DataView): number {
  let value = 0;
  for (let at = 0; at < Math.min(8, view.byteLength); at++) value = value * 256 + view.getUint8(at);
  return value;
}

type Header = { id: number; size: number | null; bytes: number };

/** RFC 8794: a name of up to four bytes and a size of up to eight, null when it is unknown. Null: more of the `length` bytes are needed. */
function readHeader(view: DataView, length: number): Header | "broken" | null {
  const idBytes = Math.clz32(view.getUint8(0)) - 23;
  if (idBytes > 4) return "broken";
  if (length <= idBytes) return null;
  const sizeBytes = Math.clz32(view.getUint8(idBytes)) - 23;
  if (sizeBytes > 8) return "broken";
  if (length < idBytes + sizeBytes) return null;
  const size = readNumber(view, idBytes);
  const id = readUnsigned(new DataView(view.buffer, view.byteOffset, idBytes));
  return { id, size: size?.isUnknown ? null : (size?.value ?? 0), bytes: idBytes + sizeBytes };
}

/** A number whose leading zeros say how many bytes it has; all ones are unknown. */
function readNumber(view: DataView, at: number): { value: number; isUnknown: boolean; bytes: number } | null {
  if (at >= view.byteLength) return null;
  const first = view.getUint8(at);
  const bytes = Math.clz32(first) - 23;
  if (bytes > 8 || at + bytes > view.byteLength) return null;
  const mask = 2 ** (8 - bytes) - 1;
  let value = first & mask;
  let isUnknown = value === mask;
  for (let more = 1; more < bytes; more++) {
    const byte = view.getUint8(at + more);
    value = value * 256 + byte;
    isUnknown &&= byte === 0xff;
  }
  return { value, isUnknown, bytes };
}
