import { readAvcSampleAspectRatio } from "./avc-sps.ts";
import { type Budget, findBox, hasLargeSize, readBoxes, readBoxHeader, viewFrom } from "./boxes.ts";
import { readHevcSampleAspectRatio } from "./hevc-sps.ts";
import {
  chooseDuration,
  collectBytes,
  displaySize,
  MAX_HEADER_BYTES,
  type MediaFacts,
  type Size,
  UNKNOWN,
  UnusableMedia,
  type VideoReader,
} from "./media.ts";

/** An hour in fragments of a second has half as many boxes, nested ones included. The 25 million of a hostile file would take 20 s. */
const MAX_BOXES_PER_FILE = 100_000;

/**
 * Reads the size and duration of an MP4 (ISO/IEC 14496-12) and whether it has sound, from its `moov`, before or after `mdat`, and from its
 * movie fragments (`moof`). Refuses no more than a player does: a box that is cut off and bytes after the last box are notes. Reads only
 * the headers of other boxes.
 * No library limits its work like this: mp4box takes 1.1 GB and 7 s for a hostile file of 416 bytes; mediabunny adds 30 ms and 20 MB to
 * the start of a function that answers after 80 ms, and skips fragments after a `moov` that has samples.
 */
export function createMp4Reader(): VideoReader {
  /** The header of the next box: size, type and `largesize`. */
  const header = new DataView(new ArrayBuffer(16));
  let headerFilled = 0;
  // `moov` and each `moof` list their samples, so MAX_HEADER_BYTES limits their sum.
  const budget = { boxes: MAX_BOXES_PER_FILE, bytes: MAX_HEADER_BYTES };
  let type = "";
  /** Remaining bytes of the current top-level box; Infinity if it extends to the end of the file. */
  let left = 0;
  /** The content of the current `moov` or `moof`, as it arrives, so that a box that only claims to be large costs no memory. */
  const kept = collectBytes(MAX_HEADER_BYTES);
  let isKept = false;
  let movie: Movie | null = null;
  let hasMdat = false;
  let note: string | undefined;

  function open(): void {
    const box = readBoxHeader(header);
    headerFilled = 0;
    if (box === null || budget.boxes === 0) {
      if (budget.boxes > 0 && (movie === null || !hasMdat))
        throw new UnusableMedia("The video has no header or no content among its boxes.");
      note = "bytes_after_end";
      type = "";
      left = Number.POSITIVE_INFINITY;
      return;
    }
    budget.boxes -= 1;
    type = box.type;
    left = box.size === null ? Number.POSITIVE_INFINITY : box.size - box.headerBytes;
    hasMdat ||= type === "mdat";
    if (type === "moov" && movie !== null) note = "two_headers"; // players use the first
    isKept = budget.bytes >= 0 && type === (movie === null ? "moov" : "moof");
    if (left === 0) close();
  }

  function close(): void {
    if (!isKept) return;
    if (movie === null) movie = readMovie(kept.drain(), budget);
    else addFragment(movie, kept.drain(), budget);
    isKept = false;
  }

  function keep(part: Uint8Array): void {
    budget.bytes -= part.byteLength;
    if (budget.bytes < 0) {
      isKept = false;
      return;
    }
    kept.add(part);
  }

  return {
    push(chunk) {
      let offset = 0;
      while (offset < chunk.byteLength) {
        if (left > 0) {
          const part = chunk.subarray(offset, offset + Math.min(left, chunk.byteLength - offset));
          if (isKept) keep(part);
          left -= part.byteLength;
          offset += part.byteLength;
          if (left === 0) close();
          continue;
        }
        header.setUint8(headerFilled++, chunk[offset++] ?? 0);
        if (headerFilled === (headerFilled >= 8 && hasLargeSize(header) ? 16 : 8)) open();
      }
    },
    end() {
      if (left === Number.POSITIVE_INFINITY) close();
      const limit = budget.boxes === 0 ? "too_many_boxes" : budget.bytes < 0 ? "header_too_large" : undefined;
      if ((movie === null && limit === undefined) || (!hasMdat && budget.boxes > 0))
        throw new UnusableMedia("The video is cut off, or has no header or no content.");
      if (left > 0 && left !== Number.POSITIVE_INFINITY && ESSENTIAL_BOXES.includes(type)) note = "cut_off";
      else if (headerFilled > 0 || (left > 0 && left !== Number.POSITIVE_INFINITY)) note = "bytes_after_end";
      const facts = movie === null ? UNKNOWN : describe(movie, limit !== undefined);
      note = limit ?? note;
      return { ...facts, ...(note !== undefined && { note }) };
    },
    tracks: () => {
      const { video, sound } = chooseTracks(movie?.tracks ?? []);
      return { video: video?.id ?? null, sound: sound?.id ?? null };
    },
  };
}

/** Players stop where one of these boxes is cut off. They skip any other that is cut off, and bytes that are not a box. */
const ESSENTIAL_BOXES = ["moov", "moof", "mdat"];

type Track = {
  /** track_ID */
  id: number;
  kind: "video" | "audio" | null;
  /** The flag track_enabled. */
  isEnabled: boolean;
  size: Size | null;
  /** The timescale of `mdhd`: units per second of `start` and `end`. */
  timescale: number;
  /** `tkhd.duration`, in the timescale of the movie; 0 if unknown. */
  headerDuration: number;
  /** Decode time of the first sample, in `moov` or in a fragment; null without one. */
  start: number | null;
  /** Decode time at which the last sample ends. */
  end: number;
};
type Movie = {
  tracks: Track[];
  byId: Map<number, Track>;
  /** default_sample_duration of `trex`, by track_ID. */
  defaultSampleDurations: Map<number, number>;
  /** `mvhd.duration` or `mehd.fragment_duration`, which include subtitles; 0 if unknown. */
  seconds: number;
  timescale: number;
  hasFragments: boolean;
};

/** Reads the content of `moov` (ISO/IEC 14496-12, 8.2). */
function readMovie(moov: DataView, budget: Budget): Movie {
  const boxes = readBoxes(moov, budget);
  const mvex = readBoxes(findBox(boxes, "mvex"), budget);
  const trex = mvex.filter(({ type, content }) => type === "trex" && content.byteLength >= 16);
  const mvhd = findBox(boxes, "mvhd");
  const isMovieRotated = mvhd !== null && isQuarterTurn(mvhd, isVersion1(mvhd) ? 48 : 36);
  const tracks = boxes.flatMap(({ type, content }) =>
    type === "trak" ? (readTrack(content, budget, isMovieRotated) ?? []) : [],
  );
  return {
    tracks,
    byId: new Map([...tracks].reverse().map((track) => [track.id, track])), // of two equal ids, the first
    defaultSampleDurations: new Map(trex.map(({ content }) => [content.getUint32(4), content.getUint32(12)])),
    seconds: readMovieSeconds(mvhd, findBox(mvex, "mehd")),
    timescale: readTimescale(mvhd),
    hasFragments: false,
  };
}

/**
 * The tracks that players choose: the first enabled track of each kind. If no video track is enabled, they show the first one. If no track of
 * either kind is enabled, they also play the first audio track.
 */
function chooseTracks(tracks: Track[]): { video: Track | null; sound: Track | null } {
  const videos = tracks.filter(({ kind, size }) => kind === "video" && size !== null);
  const sounds = tracks.filter(({ kind }) => kind === "audio");
  const isEnabled = (track: Track) => track.isEnabled;
  const sound = [...videos, ...sounds].some(isEnabled) ? sounds.find(isEnabled) : sounds[0];
  return { video: videos.find(isEnabled) ?? videos[0] ?? null, sound: sound ?? null };
}

/** `isPartial`: some of the file's boxes were not read, so only `mvhd` and `mehd` state the duration. Throws UnusableMedia. */
function describe({ tracks, seconds, timescale, hasFragments }: Movie, isPartial: boolean): MediaFacts {
  const played = tracks.filter(({ kind }) => kind !== null);
  if (!isPartial && played.length === 0) throw new UnusableMedia("The video has neither a picture nor sound.");
  const { video, sound } = chooseTracks(tracks);
  const longest = played.reduce((most, { headerDuration }) => Math.max(most, headerDuration / timescale || 0), 0);
  const main = video ?? sound;
  const inSamples = main ? (main.end - (main.start ?? 0)) / main.timescale : 0;
  // A fragmented video is as long as its video track: the audio track also counts priming samples, which only an edit list states.
  const duration = isPartial
    ? chooseDuration(seconds)
    : chooseDuration(hasFragments ? inSamples : longest || seconds, seconds, inSamples);
  const hasAudio = sound !== null || (isPartial ? null : false);
  return { ...(video?.size ?? { ...UNKNOWN, note: "no_sides" }), ...duration, hasAudio };
}

/** The kinds by handler_type: "vide" and "soun". */
const KINDS = new Map<number, Track["kind"]>([
  [0x76696465, "video"],
  [0x736f756e, "audio"],
]);

/** Returns null for a track without `tkhd` or `hdlr`, which players skip. */
function readTrack(trak: DataView, budget: Budget, isMovieRotated: boolean): Track | null {
  const boxes = readBoxes(trak, budget);
  const [tkhd, mdia] = [findBox(boxes, "tkhd"), readBoxes(findBox(boxes, "mdia"), budget)];
  const [mdhd, hdlr] = [findBox(mdia, "mdhd"), findBox(mdia, "hdlr")];
  if (!tkhd || !hdlr || hdlr.byteLength < 12) return null;
  const stbl = readBoxes(findBox(readBoxes(findBox(mdia, "minf"), budget), "stbl"), budget);
  const trackIdAt = isVersion1(tkhd) ? 20 : 12;
  if (tkhd.byteLength < trackIdAt + 16) return null;
  const kind = KINDS.get(hdlr.getUint32(8)) ?? null;
  const duration = sumSampleDurations(findBox(stbl, "stts"));
  return {
    id: tkhd.getUint32(trackIdAt),
    kind,
    isEnabled: (tkhd.getUint8(3) & 1) === 1,
    headerDuration: readTime(tkhd, trackIdAt + 8),
    size: kind === "video" ? readDisplaySize(tkhd, findBox(stbl, "stsd"), budget, isMovieRotated) : null,
    timescale: readTimescale(mdhd),
    start: duration > 0 ? 0 : null,
    end: duration,
  };
}

/** Whether a transformation matrix { a, b, u, c, d, v, x, y, w } rotates by 90° or 270°: |b| > |a|. */
const isQuarterTurn = (box: DataView, matrixAt: number): boolean =>
  box.byteLength >= matrixAt + 8 && Math.abs(box.getInt32(matrixAt + 4)) > Math.abs(box.getInt32(matrixAt));

/** The size as it is shown, rotated by the matrices of the track and of the movie. */
function readDisplaySize(tkhd: DataView, stsd: DataView | null, budget: Budget, isMovieRotated: boolean): Size | null {
  const widthAt = isVersion1(tkhd) ? 88 : 76;
  if (tkhd.byteLength < widthAt + 8) return null;
  const presentation = { width: tkhd.getUint32(widthAt) / 65536, height: tkhd.getUint32(widthAt + 4) / 65536 }; // 16.16
  const [sampleEntry] = stsd ? readBoxes(viewFrom(stsd, 8), budget) : [];
  const isKnown = sampleEntry !== undefined && sampleEntry.content.byteLength >= 78; // a VisualSampleEntry
  const coded = isKnown
    ? { width: sampleEntry.content.getUint16(24), height: sampleEntry.content.getUint16(26) }
    : presentation;
  const ratio = isKnown ? readPixelAspectRatio(viewFrom(sampleEntry.content, 78), coded, presentation, budget) : 1;
  const size = displaySize(coded, ratio);
  if (size === null) return null;
  return isQuarterTurn(tkhd, widthAt - 36) !== isMovieRotated ? { width: size.height, height: size.width } : size;
}

/** Width ÷ height of a pixel. Players take it from `pasp`, else from the size in `tkhd`, else from the SPS. */
function readPixelAspectRatio(sampleEntryBoxes: DataView, coded: Size, presentation: Size, budget: Budget): number {
  const boxes = readBoxes(sampleEntryBoxes, budget);
  const [pasp, avcC, hvcC] = [findBox(boxes, "pasp"), findBox(boxes, "avcC"), findBox(boxes, "hvcC")];
  const [hSpacing, vSpacing] = pasp && pasp.byteLength >= 8 ? [pasp.getUint32(0), pasp.getUint32(4)] : [0, 0];
  if (hSpacing > 0 && vSpacing > 0) return hSpacing / vSpacing;
  const inTkhd = (presentation.width * coded.height) / (presentation.height * coded.width);
  if (inTkhd !== 1 && inTkhd > 0 && inTkhd < Number.POSITIVE_INFINITY) return inTkhd;
  return avcC ? readAvcSampleAspectRatio(avcC) : hvcC ? readHevcSampleAspectRatio(hvcC) : 1;
}

/** The sum of sample_count × sample_delta. */
function sumSampleDurations(stts: DataView | null): number {
  let duration = 0;
  for (let at = 8; stts && at + 8 <= stts.byteLength; at += 8) duration += stts.getUint32(at) * stts.getUint32(at + 4);
  return duration;
}

/** Adds the samples of a movie fragment (8.8) to its tracks. Skips what it cannot read. */
function addFragment(movie: Movie, moof: DataView, budget: Budget): void {
  for (const { type, content } of readBoxes(moof, budget)) {
    if (type !== "traf") continue;
    const traf = readBoxes(content, budget);
    const tfhd = findBox(traf, "tfhd");
    const track = tfhd && tfhd.byteLength >= 8 && movie.byId.get(tfhd.getUint32(4));
    if (!track) continue;
    const flags = tfhd.getUint32(0);
    // base_data_offset and sample_description_index may precede default_sample_duration.
    const at = 8 + (flags & 0x1 ? 8 : 0) + (flags & 0x2 ? 4 : 0);
    const defaultSampleDuration =
      flags & 0x8 && at + 4 <= tfhd.byteLength ? tfhd.getUint32(at) : (movie.defaultSampleDurations.get(track.id) ?? 0);
    const tfdt = findBox(traf, "tfdt");
    const start = tfdt && tfdt.byteLength >= (isVersion1(tfdt) ? 12 : 8) ? readTime(tfdt, 4) : track.end;
    const duration = traf.reduce(
      (sum, box) => (box.type === "trun" ? sum + sumRunDurations(box.content, defaultSampleDuration) : sum),
      0,
    );
    if (duration === 0) continue;
    movie.hasFragments ||= track.kind !== null;
    track.start ??= start;
    track.end = Math.max(track.end, start + duration);
  }
}

function sumRunDurations(trun: DataView, defaultSampleDuration: number): number {
  if (trun.byteLength < 8) return 0;
  const [flags, sampleCount] = [trun.getUint32(0), trun.getUint32(4)];
  if (!(flags & 0x100)) return sampleCount * defaultSampleDuration;
  // sample_duration, sample_size, sample_flags, sample_composition_time_offset
  const sampleBytes = [0x100, 0x200, 0x400, 0x800].reduce((sum, flag) => sum + (flags & flag ? 4 : 0), 0);
  let duration = 0;
  const first = 8 + (flags & 0x1 ? 4 : 0) + (flags & 0x4 ? 4 : 0); // after data_offset, first_sample_flags
  for (
    let sample = 0, at = first;
    sample < sampleCount && at + sampleBytes <= trun.byteLength;
    sample++, at += sampleBytes
  ) {
    duration += trun.getUint32(at);
  }
  return duration;
}

/** The longer of the durations in `mvhd` and `mehd`, in seconds; 0 if unknown. */
function readMovieSeconds(mvhd: DataView | null, mehd: DataView | null): number {
  if (!mvhd || mvhd.byteLength < (isVersion1(mvhd) ? 32 : 20)) return 0;
  const timescale = readTimescale(mvhd);
  const duration = readTime(mvhd, isVersion1(mvhd) ? 24 : 16);
  const fragmentDuration = mehd && mehd.byteLength >= (isVersion1(mehd) ? 12 : 8) ? readTime(mehd, 4) : 0;
  return timescale === 0 ? 0 : Math.max(duration, fragmentDuration) / timescale;
}

/** The timescale of `mvhd` or `mdhd`, in units per second; 0 without one. */
function readTimescale(box: DataView | null): number {
  const at = box && isVersion1(box) ? 20 : 12;
  return box && box.byteLength >= at + 4 ? box.getUint32(at) : 0;
}

/** Whether a FullBox has version 1, with 64-bit times and durations. */
const isVersion1 = (box: DataView) => box.byteLength > 0 && box.getUint8(0) === 1;
/** Returns 0 if all bits are set, which means unknown. */
const readTime = (box: DataView, at: number): number => {
  const time = isVersion1(box) ? box.getBigUint64(at) : box.getUint32(at);
  return time === 0xffffffffffffffffn || time === 0xffffffff ? 0 : Number(time);
};
