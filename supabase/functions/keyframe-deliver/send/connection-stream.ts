import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { InterimAnswers } from "./interim-answers.ts";
import { type Chunk, joinChunks } from "./join-chunks.ts";

/** Most answers are smaller, and each connection has a buffer of it. */
const READ_BYTES = 4 * 1024;

/**
 * A connection as a Node stream, which is what undici speaks HTTP over, one request at a time, each in one write. Destroying the
 * stream closes the connection.
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

  /** Head and body of a request come together and leave together, in one packet when they fit. */
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
