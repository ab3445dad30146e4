import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { InterimAnswers } from "./interim-answers.ts";

/** Each connection has a buffer of this size; most responses are smaller. */
const READ_BYTES = 4 * 1024;

/**
 * A connection as a Node stream for undici, with one request at a time and one write per request. Destroying the stream closes the
 * connection.
 */
export class ConnectionStream extends Duplex {
  readonly #connection: Deno.Conn;
  readonly #buffer = new Uint8Array(READ_BYTES);
  readonly #interimAnswers = new InterimAnswers();

  constructor(connection: Deno.Conn) {
    super({ decodeStrings: false });
    this.#connection = connection;
  }

  override _read(): void {
    this.#readAnswer().then(
      (bytes) => this.push(bytes),
      (error) => this.destroy(error),
    );
  }

  override _write(chunk: Chunk["chunk"], encoding: Chunk["encoding"], done: (error?: Error) => void): void {
    this._writev([{ chunk, encoding }], done);
  }

  /** Sends head and body of a request together, in one packet if they fit. */
  override _writev(chunks: Chunk[], done: (error?: Error) => void): void {
    this.#interimAnswers.expect();
    this.#writeAll(joinChunks(chunks)).then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#connection.close();
    done(error);
  }

  /** undici calls these two: an unused connection keeps no process alive. */
  ref(): void {
    this.#connection.ref();
  }

  unref(): void {
    this.#connection.unref();
  }

  /** At least one byte, or null at the end. */
  async #readAnswer(): Promise<Buffer | null> {
    for (;;) {
      const count = await this.#connection.read(this.#buffer);
      if (count === null) return null;
      const bytes = this.#interimAnswers.remove(Buffer.from(this.#buffer.subarray(0, count)));
      if (bytes.length > 0) return bytes;
    }
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    for (let sent = 0; sent < bytes.byteLength; ) sent += await this.#connection.write(bytes.subarray(sent));
  }
}

/** What undici writes: the head of a request as text, its body as bytes. */
export type Chunk = { chunk: Uint8Array | string; encoding: BufferEncoding };

const encoder = new TextEncoder();

/** Joins the chunks. ASCII text, such as a head, is encoded in place. */
function joinChunks(chunks: Chunk[]): Uint8Array {
  const joined = new Uint8Array(chunks.reduce((length, { chunk }) => length + chunk.length, 0));
  let at = 0;
  for (const { chunk, encoding } of chunks) {
    if (typeof chunk !== "string") joined.set(chunk, at);
    else if (encoding !== "latin1" || !writeAscii(chunk, joined.subarray(at))) return decodeAll(chunks);
    at += chunk.length;
  }
  return joined;
}

/** True when the text is ASCII only, so that each character is one byte. */
function writeAscii(text: string, room: Uint8Array): boolean {
  const { read, written } = encoder.encodeInto(text, room);
  return read === text.length && written === text.length;
}

function decodeAll(chunks: Chunk[]): Uint8Array {
  return Buffer.concat(
    chunks.map(({ chunk, encoding }) => (typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk)),
  );
}
