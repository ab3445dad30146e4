import { type MediaReader, UnusableMedia } from "./media.ts";
import { isLarge, readBoxHeader } from "./mp4-boxes.ts";
import { readMovie } from "./mp4-movie.ts";

/** `moov` lists every sample; for an hour of video that is a few megabytes. */
const MOST_MOVIE_BYTES = 16 * 1024 * 1024;
/** Memory for `moov` is taken as its bytes come, so a box that only claims to be large costs nothing. */
const FIRST_MOVIE_BYTES = 64 * 1024;

/**
 * Reads size and duration of an MP4, wherever its `moov` stands, and that it is whole: the last box ends with the file.
 * Of everything but `moov` only the box headers are looked at.
 */
export function createMp4Reader(): MediaReader {
  const header = new DataView(new ArrayBuffer(16));
  let headerFilled = 0;
  /** Bytes of the present box that are still to come; Infinity when it goes on to the end of the file. */
  let left = 0;
  let movie: Uint8Array<ArrayBuffer> | null = null;
  let movieFilled = 0;
  let inMovie = false;
  let hasSamples = false;

  function open(): void {
    const { type, headerBytes, size } = readBoxHeader(header);
    left = size === null ? Number.POSITIVE_INFINITY : size - headerBytes;
    headerFilled = 0;
    hasSamples ||= type === "mdat";
    inMovie = type === "moov";
    if (!inMovie) return;
    if (movie !== null) throw new UnusableMedia("The video has two headers.");
    if (size !== null && size > MOST_MOVIE_BYTES) throw new UnusableMedia("The video's header is too large.");
    movie = new Uint8Array(Math.min(left, FIRST_MOVIE_BYTES));
  }

  function keep(part: Uint8Array): void {
    if (movie === null) return;
    const needed = movieFilled + part.byteLength;
    if (needed > MOST_MOVIE_BYTES) throw new UnusableMedia("The video's header is too large.");
    if (needed > movie.byteLength) {
      const larger = new Uint8Array(Math.min(2 * needed, MOST_MOVIE_BYTES));
      larger.set(movie.subarray(0, movieFilled));
      movie = larger;
    }
    movie.set(part, movieFilled);
    movieFilled = needed;
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
      if (movie === null || !hasSamples) throw new UnusableMedia("The video has no header or no content.");
      return readMovie(new DataView(movie.buffer, 0, movieFilled));
    },
  };
}
