/** The types of generated files: what browsers show and play, but for SVG, which runs scripts. */
export const MEDIA_EXTENSIONS = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "image/avif": "avif",
  "image/bmp": "bmp",
  "image/x-icon": "ico",
  "video/mp4": "mp4",
  "video/webm": "webm",
  "video/x-matroska": "mkv",
  "video/ogg": "ogv",
  "audio/mpeg": "mp3",
  "audio/wav": "wav",
  "audio/flac": "flac",
  "audio/aac": "aac",
} as const;
export type MediaType = keyof typeof MEDIA_EXTENSIONS;
/** An icon has several sizes. */
export type ImageType = Exclude<Extract<MediaType, `image/${string}`>, "image/x-icon">;

export type Size = { width: number; height: number };

/**
 * Pixels, as the file is shown; null when it has no picture, or does not tell in its first part. For a video also its duration in seconds
 * (null when the file does not state it) and whether it has sound; both are null for an image. `note` says what is odd.
 */
export type MediaFacts = {
  width: number | null;
  height: number | null;
  durationSeconds: number | null;
  hasAudio: boolean | null;
  note?: string | undefined;
};

export const UNKNOWN: MediaFacts = { width: null, height: null, durationSeconds: null, hasAudio: null };

/** The file cannot be shown or played. The message says why. */
export class UnusableMedia extends Error {}

/** Reads a file chunk by chunk and keeps only its headers. Both methods throw UnusableMedia. */
export type MediaReader = { push(chunk: Uint8Array): void; end(): MediaFacts };

/** `tracks` has the numbers of those that players show and play. They are known at the end. */
export type VideoReader = MediaReader & { tracks(): { video: number | null; sound: number | null } };

/** Collects parts of a file. The memory grows as they come, and is used again. */
export function collectBytes(maxBytes: number): { add(part: Uint8Array): void; take(): DataView } {
  let bytes = new Uint8Array(0);
  let length = 0;
  return {
    add(part) {
      const end = length + part.byteLength;
      if (end > maxBytes) throw new RangeError("More than maxBytes was collected.");
      if (end > bytes.byteLength) {
        const larger = new Uint8Array(Math.min(maxBytes, Math.max(end, 2 * bytes.byteLength)));
        larger.set(bytes.subarray(0, length));
        bytes = larger;
      }
      bytes.set(part, length);
      length = end;
    },
    /** The bytes since the last call. The next bytes overwrite them. */
    take() {
      const view = new DataView(bytes.buffer, 0, length);
      length = 0;
      return view;
    },
  };
}

/**
 * The maximum of one video's headers that is read and kept: 20 minutes of video have less. A worker copies 36 files at once, and has
 * 256 MB for all.
 */
export const MAX_HEADER_BYTES = 1024 * 1024;

/** The number of bytes that detectMedia needs: the names of an AVIF or WebM are within them. */
export const SIGNATURE_BYTES = 64;

/** An MP4 begins with `ftyp`, a part of a stream with `styp`; a QuickTime file from before 2001 may begin with any of the others. */
const FIRST_BOXES = ["ftyp", "styp", "moov", "mdat", "wide", "free", "skip", "pnot"];

/** The lengths of a BMP's second header, of Windows and OS/2, that browsers know. */
const BMP_HEADERS = [12, 16, 20, 24, 28, 32, 36, 40, 42, 44, 46, 48, 52, 56, 60, 64, 108, 124];

/** How files begin. An icon comes last: four bytes are few. */
const SIGNATURES: [string | RegExp, MediaType][] = [
  ["\x89PNG\r\n\x1a\n", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  [/^RIFF.{4}WEBP/s, "image/webp"],
  [/^GIF8[79]a/, "image/gif"],
  [new RegExp(`^BM.{12}[${String.fromCharCode(...BMP_HEADERS)}]\\0{3}`, "s"), "image/bmp"],
  ["\x1aE\xdf\xa3", "video/webm"],
  ["OggS\0", "video/ogg"],
  [/^RIFF.{4}WAVE/s, "audio/wav"],
  ["fLaC", "audio/flac"],
  [/^(ID3[^ -~]|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/, "audio/mpeg"],
  [/^\xff[\xf0\xf1\xf8\xf9]/, "audio/aac"],
  [new RegExp(`^.{4}(${FIRST_BOXES.join("|")})`, "s"), "video/mp4"],
  ["\0\0\x01\0", "image/x-icon"],
];

/** The type of a file by its first bytes; null for other types. */
export function detectMedia(head: Uint8Array): MediaType | null {
  const text = firstLetters(head);
  const brands = text.slice(8, text.charCodeAt(2) * 256 + text.charCodeAt(3));
  if (text.slice(4, 8) === "ftyp" && /avi[fs]/.test(brands)) return "image/avif";
  const type = SIGNATURES.find(([how]) => (typeof how === "string" ? text.startsWith(how) : how.test(text)))?.[1];
  return type === "video/webm" && text.includes("matroska") ? "video/x-matroska" : (type ?? null);
}

export const firstLetters = (head: Uint8Array): string => String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));

export const isImageType = (type: MediaType): type is ImageType => type.startsWith("image/") && type !== "image/x-icon";

/** Longer than any model's video. A file that states more is damaged, and would be billed by the second. */
const MAX_SECONDS = 24 * 3600;

/** The first plausible length of a video; null with a note when there is none. */
export function chooseDuration(...said: number[]): Pick<MediaFacts, "durationSeconds" | "note"> {
  const durationSeconds = said.find((seconds) => seconds > 0 && seconds <= MAX_SECONDS) ?? null;
  const isOdd = durationSeconds === null || said.some((seconds) => seconds > MAX_SECONDS);
  return { durationSeconds, ...(isOdd && { note: "odd_duration" }) };
}

/** The largest side that a track's header can state. */
const MAX_SIDE = 65_535;

/** The size as it is shown: pixels whose width is `ratio` times their height are widened or heightened, as players do. Null: none. */
export function shownSize(coded: Size, ratio: number): Size | null {
  const longest = Math.max(coded.width * ratio, coded.height / ratio);
  const fitting = ratio > 0 && longest <= MAX_SIDE ? ratio : 1; // NaN too
  const width = Math.round(coded.width * Math.max(1, fitting));
  const height = Math.round(coded.height / Math.min(1, fitting));
  return width > 0 && height > 0 ? { width, height } : null;
}
