import { sniffImage } from "./sniff-image.ts";
import { type MediaReader, UnusableMedia } from "./media.ts";

/** A JPEG's size stands behind its colour profile and its metadata; a megabyte has room for both. */
const JPEG_HEAD_BYTES = 1024 * 1024;
/** A PNG's and a WebP's stands in the first 33. */
const HEAD_BYTES = 64;
const FIRST_HEAD_BYTES = 64 * 1024;

/** Reads the size of a PNG, JPEG or WebP, and that a PNG or WebP is whole. */
export function createImageReader(contentType: string): MediaReader {
  const mostHead = contentType === "image/jpeg" ? JPEG_HEAD_BYTES : HEAD_BYTES;
  let head = new Uint8Array(Math.min(mostHead, FIRST_HEAD_BYTES));
  let kept = 0;
  let tail = new Uint8Array(0);
  let bytes = 0;

  return {
    push(chunk) {
      bytes += chunk.byteLength;
      const room = Math.min(chunk.byteLength, mostHead - kept);
      if (kept + room > head.byteLength) {
        const larger = new Uint8Array(Math.min(mostHead, 2 * (kept + room)));
        larger.set(head.subarray(0, kept));
        head = larger;
      }
      head.set(chunk.subarray(0, room), kept);
      kept += room;
      tail = lastBytes(tail, chunk);
    },
    end() {
      const image = sniffImage(asWhole(head.slice(0, kept), contentType));
      if (image === null || image.contentType !== contentType) throw new UnusableMedia("The image's header is broken.");
      if (!isWhole(contentType, head, tail, bytes)) throw new UnusableMedia("The image is cut off.");
      return { width: image.width, height: image.height, durationSeconds: null };
    },
  };
}

/** A PNG ends with the chunk IEND, always the same; some programs write a little behind it. */
const IEND = "IEND\xae\x42\x60\x82";
const TAIL_BYTES = 256;

/** A copy, for a chunk is somebody else's once it was passed on. */
function lastBytes(former: Uint8Array<ArrayBuffer>, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  if (chunk.byteLength >= TAIL_BYTES) return new Uint8Array(chunk.subarray(-TAIL_BYTES));
  const both = new Uint8Array(former.byteLength + chunk.byteLength);
  both.set(former);
  both.set(chunk, former.byteLength);
  return both.slice(-TAIL_BYTES);
}

/** sniffImage compares a WebP's length with what it is given; here that is the head alone, and isWhole compares the length. */
function asWhole(head: Uint8Array, contentType: string): Uint8Array {
  if (contentType === "image/webp" && head.byteLength >= 8) {
    new DataView(head.buffer).setUint32(4, head.byteLength - 8, true);
  }
  return head;
}

function isWhole(contentType: string, head: Uint8Array, tail: Uint8Array, bytes: number): boolean {
  if (contentType === "image/png") return String.fromCharCode(...tail).includes(IEND);
  if (contentType === "image/webp") return new DataView(head.buffer).getUint32(4, true) + 8 <= bytes;
  return true; // some encoders write behind a JPEG's end
}
