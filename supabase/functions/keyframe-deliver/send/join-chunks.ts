import { Buffer } from "node:buffer";

/** What a stream is given to write: undici gives the head of a request as text and its body as bytes. */
export type Chunk = { chunk: Uint8Array | string; encoding: BufferEncoding };

const encoder = new TextEncoder();

/** All of it in one piece. Text of ASCII, which heads are, is written straight into it. */
export function joinChunks(chunks: Chunk[]): Uint8Array {
  const joined = new Uint8Array(chunks.reduce((length, { chunk }) => length + chunk.length, 0));
  let at = 0;
  for (const { chunk, encoding } of chunks) {
    if (typeof chunk !== "string") joined.set(chunk, at);
    else if (encoding !== "latin1" || !writeAscii(chunk, joined.subarray(at))) return decodeAll(chunks);
    at += chunk.length;
  }
  return joined;
}

/** True when the text is ASCII alone: only then is each of its characters one byte. */
function writeAscii(text: string, room: Uint8Array): boolean {
  const { read, written } = encoder.encodeInto(text, room);
  return read === text.length && written === text.length;
}

function decodeAll(chunks: Chunk[]): Uint8Array {
  return Buffer.concat(
    chunks.map(({ chunk, encoding }) => (typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk)),
  );
}
