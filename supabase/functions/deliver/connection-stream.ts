import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";

const READ_BYTES = 16 * 1024;

/** A connection as a Node stream, which is what undici speaks HTTP over. Destroying the stream closes the connection. */
export class ConnectionStream extends Duplex {
  readonly #connection: Deno.Conn;
  readonly #buffer = new Uint8Array(READ_BYTES);

  constructor(connection: Deno.Conn) {
    super();
    this.#connection = connection;
  }

  override _read(): void {
    this.#connection.read(this.#buffer).then(
      (count) => this.push(count === null ? null : Buffer.from(this.#buffer.subarray(0, count))),
      (error) => this.destroy(error),
    );
  }

  override _write(chunk: Uint8Array, _encoding: string, done: (error?: Error) => void): void {
    this.#writeAll(chunk).then(() => done(), done);
  }

  /** Head and body of a request come together and leave together, in one packet when they fit. */
  override _writev(chunks: { chunk: Uint8Array }[], done: (error?: Error) => void): void {
    this.#writeAll(Buffer.concat(chunks.map(({ chunk }) => chunk))).then(() => done(), done);
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

  async #writeAll(bytes: Uint8Array): Promise<void> {
    for (let sent = 0; sent < bytes.byteLength; ) sent += await this.#connection.write(bytes.subarray(sent));
  }
}
