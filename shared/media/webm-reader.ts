import {
  chooseDuration,
  collectBytes,
  displaySize,
  MAX_HEADER_BYTES,
  type Size,
  UNKNOWN,
  UnusableMedia,
  type VideoReader,
} from "./media.ts";

/** Limits the children of one master element: a megabyte of empty ones would take 50 MB. */
const MAX_CHILDREN = 10_000;
/** Limits the elements of a file: an hour of video has fewer. The 13 million of a hostile file would take 5 s. */
const MAX_ELEMENTS_PER_FILE = 300_000;
/** The longest header of an element: four bytes of Element ID, eight of Element Data Size. */
const ELEMENT_HEADER_BYTES = 12;
/** Enough for the header of a block: the track number (1 to 8 bytes), a relative timestamp (2), flags (1). */
const BLOCK_HEADER_BYTES = 12;

/** Element IDs of Matroska (RFC 9559, section 5.1). */
const ID = {
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
  displayWidth: 0x54b0,
  displayHeight: 0x54ba,
  displayUnit: 0x54b2,
  stereoMode: 0x53b8,
  pixelCropTop: 0x54bb,
  pixelCropBottom: 0x54aa,
  pixelCropLeft: 0x54cc,
  pixelCropRight: 0x54dd,
  projection: 0x7670,
  projectionPoseRoll: 0x7675,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
};
/** Master elements whose children are read as if they were siblings, so their size may be unknown. */
const FLATTENED = [ID.segment, ID.cluster, ID.blockGroup];
const KEPT = [ID.info, ID.tracks, ID.timestamp];
const BLOCKS = [ID.block, ID.simpleBlock];

const NO_FRAMES = { count: 0, first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };

/**
 * Reads the size and duration of a WebM or Matroska file and whether it has sound. Refuses no more than a player does: a file that is cut
 * off, or that cannot be read further, gets a note. Reads Info, Tracks and the header of each block, so at most MAX_HEADER_BYTES are in
 * memory. mediabunny is not used for the reasons in mp4-reader.ts, and because it seeks, while here a file is streamed once.
 */
export function createWebmReader(): VideoReader {
  const header = new DataView(new ArrayBuffer(ELEMENT_HEADER_BYTES));
  let filled = 0;
  let elements = 0;
  let id = 0;
  /** Remaining bytes of the current element. */
  let left = 0;
  /** Bytes of the current element that are still to be kept. */
  let toKeep = 0;
  let position = 0;
  /** Where the Segment ends; Infinity if its size is unknown. */
  let end = Number.POSITIVE_INFINITY;
  const kept = collectBytes(MAX_HEADER_BYTES);
  let info: Info | null = null;
  let tracks: Tracks | null = null;
  let clusterTimestamp = 0;
  const frames = { ...NO_FRAMES };
  let note: string | undefined;

  function open(element: { id: number; size: number | null }): void {
    filled = 0;
    id = element.id;
    if (++elements > MAX_ELEMENTS_PER_FILE) {
      stop("too_many_elements");
      return;
    }
    if (id === ID.segment && element.size !== null) end = position + element.size;
    if (FLATTENED.includes(id)) return;
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

  /** Ends the reading; `why` becomes the note. */
  function stop(why: string): void {
    filled = 0;
    end = position;
    note = why;
  }

  function keep(part: Uint8Array): void {
    kept.add(part);
    toKeep -= part.byteLength;
    if (toKeep > 0) return;
    const content = kept.drain();
    if (id === ID.info) info ??= readInfo(content);
    else if (id === ID.tracks) tracks ??= readTracks(content);
    else if (id === ID.timestamp) clusterTimestamp = readUnsigned(content);
    else countFrame(content);
  }

  function countFrame(block: DataView): void {
    const trackNumber = readVint(block, 0);
    if (trackNumber === null || block.byteLength < trackNumber.bytes + 2) return;
    if (tracks?.video?.number !== trackNumber.value) return;
    const timestamp = clusterTimestamp + block.getInt16(trackNumber.bytes);
    frames.count += 1;
    frames.first = Math.min(frames.first, timestamp);
    frames.last = Math.max(frames.last, timestamp);
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
          if (frames.count === 0) throw new UnusableMedia("The video has an element that cannot be read.");
          stop("bytes_after_end"); // after a Segment of unknown size
        } else if (element !== null) open(element);
      }
    },
    end() {
      if (filled > 0 || left > 0 || (end !== Number.POSITIVE_INFINITY && position < end)) note = "cut_off";
      const size = tracks?.video?.size ?? null;
      const hasAudio = tracks && tracks.sound !== undefined;
      if (note === "header_too_large" && tracks === null) return { ...UNKNOWN, note };
      if (!hasAudio && (size === null || frames.count === 0))
        throw new UnusableMedia("The video is cut off, or has no header or no pictures.");
      const { count, first, last } = note === "too_many_elements" ? NO_FRAMES : frames; // not all frames were counted
      const seconds = (ticks: number) => (ticks * (info?.timestampScale ?? 1e6)) / 1e9;
      // The last frame counts with the average duration of the others.
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

/** `timestampScale`: nanoseconds per tick of all timestamps and of `duration`, which is 0 if unknown. */
type Info = { timestampScale: number; duration: number };
/** Players choose the first track of each TrackType. */
type Tracks = { video: Track | undefined; sound: Track | undefined };
type Track = { number: number; type: number; size: Size | null };
/** Values of TrackType. */
const [VIDEO, AUDIO] = [1, 2];

function readInfo(content: DataView): Info {
  const elements = readElements(content);
  const duration = elements.get(ID.duration)?.[0];
  const timestampScale = elements.get(ID.timestampScale)?.[0];
  return {
    timestampScale: timestampScale ? readUnsigned(timestampScale) : 1e6,
    duration: readFloat(duration),
  };
}

function readTracks(content: DataView): Tracks {
  const tracks = (readElements(content).get(ID.trackEntry) ?? []).map(readTrack);
  return {
    video: tracks.find(({ size }) => size !== null),
    sound: tracks.find(({ type }) => type === AUDIO),
  };
}

function readTrack(content: DataView): Track {
  const elements = readElements(content);
  const type = unsignedIn(elements, ID.trackType);
  const video = type === VIDEO ? elements.get(ID.video)?.[0] : undefined;
  return {
    number: unsignedIn(elements, ID.trackNumber),
    type,
    size: video ? readDisplaySize(readElements(video)) : null,
  };
}

/** Values of DisplayUnit: without DisplayWidth and DisplayHeight, pixels mean the cropped size; "unknown" means no aspect ratio. */
const [PIXELS, UNKNOWN_UNIT] = [0, 4];
/**
 * Values of StereoMode whose frames contain both eyes: side by side or column interleaved; top-bottom or row interleaved. DisplayWidth and
 * DisplayHeight then give the size of one eye.
 */
const [HALF_WIDTH_PER_EYE, HALF_HEIGHT_PER_EYE] = [
  [1, 8, 9, 11],
  [2, 3, 6, 7],
];

/**
 * DisplayWidth and DisplayHeight give only the aspect ratio of a pixel, because their unit may be pixels, lengths or a ratio. Players ignore
 * PixelCrop, except in that ratio. A ProjectionPoseRoll of ±90° swaps the sides.
 */
function readDisplaySize(video: Elements): Size | null {
  const coded = { width: unsignedIn(video, ID.pixelWidth), height: unsignedIn(video, ID.pixelHeight) };
  const cropped = {
    width: coded.width - unsignedIn(video, ID.pixelCropLeft) - unsignedIn(video, ID.pixelCropRight),
    height: coded.height - unsignedIn(video, ID.pixelCropTop) - unsignedIn(video, ID.pixelCropBottom),
  };
  const [displayUnit, stereoMode] = [unsignedIn(video, ID.displayUnit), unsignedIn(video, ID.stereoMode)];
  const displayWidth = unsignedIn(video, ID.displayWidth) || (displayUnit === PIXELS ? cropped.width : 0);
  const displayHeight = unsignedIn(video, ID.displayHeight) || (displayUnit === PIXELS ? cropped.height : 0);
  const stereoRatio = HALF_WIDTH_PER_EYE.includes(stereoMode) ? 2 : HALF_HEIGHT_PER_EYE.includes(stereoMode) ? 0.5 : 1;
  const pixelAspectRatio = (stereoRatio * displayWidth * cropped.height) / (displayHeight * cropped.width);
  const isKnown = displayUnit < UNKNOWN_UNIT && displayWidth > 0 && displayHeight > 0;
  const size = displaySize(coded, isKnown ? pixelAspectRatio : 1);
  const projection = video.get(ID.projection)?.[0];
  const roll = projection && readFloat(readElements(projection).get(ID.projectionPoseRoll)?.[0]);
  return size && roll && Math.abs(roll) % 180 === 90 ? { width: size.height, height: size.width } : size;
}

type Elements = Map<number, DataView[]>;

/** The children of a master element by Element ID, as far as they can be read, and at most MAX_CHILDREN. */
function readElements(view: DataView): Elements {
  const elements: Elements = new Map();
  for (let at = 0, count = 0; at < view.byteLength && count < MAX_CHILDREN; count++) {
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

const unsignedIn = (elements: Elements, id: number): number => {
  const [content] = elements.get(id) ?? [];
  return content ? readUnsigned(content) : 0;
};

const readFloat = (view: DataView | undefined): number =>
  view?.byteLength === 8 ? view.getFloat64(0) : view?.byteLength === 4 ? view.getFloat32(0) : 0;

/** An Unsigned Integer Element has up to eight bytes. */
function readUnsigned(view: DataView): number {
  let value = 0;
  for (let at = 0; at < Math.min(8, view.byteLength); at++) value = value * 256 + view.getUint8(at);
  return value;
}

type Header = { id: number; size: number | null; bytes: number };

/**
 * Reads an Element ID of up to four bytes and an Element Data Size of up to eight (RFC 8794, sections 5 and 6); a size of null is unknown.
 * Returns null if more than these `length` bytes are needed.
 */
function readHeader(view: DataView, length: number): Header | "broken" | null {
  const idBytes = Math.clz32(view.getUint8(0)) - 23;
  if (idBytes > 4) return "broken";
  if (length <= idBytes) return null;
  const sizeBytes = Math.clz32(view.getUint8(idBytes)) - 23;
  if (sizeBytes > 8) return "broken";
  if (length < idBytes + sizeBytes) return null;
  const size = readVint(view, idBytes);
  const id = readUnsigned(new DataView(view.buffer, view.byteOffset, idBytes));
  return { id, size: size?.isUnknown ? null : (size?.value ?? 0), bytes: idBytes + sizeBytes };
}

/** A variable-size integer (RFC 8794, section 4): the leading zeros give its length; a size whose VINT_DATA are all ones is unknown. */
function readVint(view: DataView, at: number): { value: number; isUnknown: boolean; bytes: number } | null {
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
