/** The types of generated files: what browsers show and play, except SVG, which can contain scripts. */
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
/** Icons are left out, because they contain images of several sizes. */
export type ImageType = Exclude<Extract<MediaType, `image/${string}`>, "image/x-icon">;

export type Size = { width: number; height: number };

/**
 * The display size in pixels; null if there is no video track, or if the part that was read does not state it. A video also has its duration
 * in seconds (null if the file does not state it) and whether it has sound. Both are null for an image. `note` says what is odd.
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

/** `tracks` returns the IDs (MP4) or numbers (Matroska) of the tracks that players choose. Call it after `end`. */
export type VideoReader = MediaReader & { tracks(): { video: number | null; sound: number | null } };

/** Collects parts of a file in a buffer that grows as they arrive and is reused. */
export function collectBytes(maxBytes: number): { add(part: Uint8Array): void; drain(): DataView } {
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
    /** The bytes since the last call. The next `add` overwrites them. */
    drain() {
      const view = new DataView(bytes.buffer, 0, length);
      length = 0;
      return view;
    },
  };
}

/**
 * The maximum that is kept of one video's headers (`moov` and `moof`, or Info and Tracks): 20 minutes of video have less. A worker copies 36
 * files at once in 256 MB.
 */
export const MAX_HEADER_BYTES = 1024 * 1024;

/** The number of bytes that detectMedia needs: the brands of an AVIF and the DocType of a WebM are within them. */
export const SIGNATURE_BYTES = 64;

/** An MP4 begins with `ftyp`, a media segment with `styp`; a QuickTime file from before 2001 may begin with any of the others. */
const FIRST_BOX_TYPES = ["ftyp", "styp", "moov", "mdat", "wide", "free", "skip", "pnot"];

/** The sizes of a BMP's DIB header (bcSize, biSize), of Windows and OS/2, that browsers accept. */
const DIB_HEADER_SIZES = [12, 16, 20, 24, 28, 32, 36, 40, 42, 44, 46, 48, 52, 56, 60, 64, 108, 124];

/** How files begin. Icons come last, because their four bytes are the weakest signature. */
const SIGNATURES: [string | RegExp, MediaType][] = [
  ["\x89PNG\r\n\x1a\n", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  [/^RIFF.{4}WEBP/s, "image/webp"],
  [/^GIF8[79]a/, "image/gif"],
  [new RegExp(`^BM.{12}[${String.fromCharCode(...DIB_HEADER_SIZES)}]\\0{3}`, "s"), "image/bmp"],
  ["\x1aE\xdf\xa3", "video/webm"],
  ["OggS\0", "video/ogg"],
  [/^RIFF.{4}WAVE/s, "audio/wav"],
  ["fLaC", "audio/flac"],
  [/^(ID3[^ -~]|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/, "audio/mpeg"],
  [/^\xff[\xf0\xf1\xf8\xf9]/, "audio/aac"],
  [new RegExp(`^.{4}(${FIRST_BOX_TYPES.join("|")})`, "s"), "video/mp4"],
  ["\0\0\x01\0", "image/x-icon"],
];

/** The type of a file by its first bytes; null for other types. */
export function detectMedia(head: Uint8Array): MediaType | null {
  const text = signatureText(head);
  const brands = text.slice(8, text.charCodeAt(2) * 256 + text.charCodeAt(3));
  if (text.slice(4, 8) === "ftyp" && /avi[fs]/.test(brands)) return "image/avif";
  const matches = (signature: string | RegExp) =>
    typeof signature === "string" ? text.startsWith(signature) : signature.test(text);
  const type = SIGNATURES.find(([signature]) => matches(signature))?.[1];
  return type === "video/webm" && text.includes("matroska") ? "video/x-matroska" : (type ?? null);
}

/** One character for each of the first bytes (Latin-1). */
export const signatureText = (head: Uint8Array): string => String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));

export const isImageType = (type: MediaType): type is ImageType => type.startsWith("image/") && type !== "image/x-icon";

/** Longer than any model's video. A file that states a longer duration is damaged, and would be billed by the second. */
const MAX_SECONDS = 24 * 3600;

/** The first plausible duration, in seconds. If none is plausible, null with a note. */
export function chooseDuration(...stated: number[]): Pick<MediaFacts, "durationSeconds" | "note"> {
  const durationSeconds = stated.find((seconds) => seconds > 0 && seconds <= MAX_SECONDS) ?? null;
  const isOdd = durationSeconds === null || stated.some((seconds) => seconds > MAX_SECONDS);
  return { durationSeconds, ...(isOdd && { note: "odd_duration" }) };
}

/** The largest width or height in a `tkhd` (16.16). */
const MAX_SIDE = 65_535;

/** The size in square pixels. Players stretch the shorter side of a pixel, whose aspect ratio is width ÷ height. Null if it has no area. */
export function displaySize(coded: Size, pixelAspectRatio: number): Size | null {
  const longest = Math.max(coded.width * pixelAspectRatio, coded.height / pixelAspectRatio);
  const ratio = pixelAspectRatio > 0 && longest <= MAX_SIDE ? pixelAspectRatio : 1; // 1 for NaN too
  const width = Math.round(coded.width * Math.max(1, ratio));
  const height = Math.round(coded.height / Math.min(1, ratio));
  return width > 0 && height > 0 ? { width, height } : null;
}
