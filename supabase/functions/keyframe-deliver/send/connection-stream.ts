import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { SendError } from "./send-error.ts";

/** The buffer of each connection has this size, because most responses are smaller. */
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
    super();
    this.#connection = connection;
  }

  override _read(): void {
    this.#readAnswer().then(
      (bytes) => this.push(bytes),
      (error) => this.destroy(error),
    );
  }

  /** Sends head and body of a request together, in one packet if they fit. */
  override _writev(chunks: { chunk: Uint8Array }[], done: (error?: Error) => void): void {
    this.#interimAnswers.expect();
    this.#writeAll(Buffer.concat(chunks.map(({ chunk }) => chunk))).then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#connection.close();
    done(error);
  }

  /** undici calls ref and unref, so that an unused connection keeps no process alive. */
  ref(): void {
    this.#connection.ref();
  }

  unref(): void {
    this.#connection.unref();
  }

  /** Returns at least one byte, or null at the end. */
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

/** The limit on a response's head, and on everything before it. */
export const MAX_HEAD_BYTES = 16 * 1024;

const STATUS_BYTES = "HTTP/1.1 100".length;
const STATUS = /^HTTP\/\d\.\d ([1-9]\d\d)$/;
const HEAD_END = "\r\n\r\n";

/**
 * Removes interim responses (1xx) such as `100 Continue` and `103 Early Hints` before the final one. A client must accept them at
 * any time (RFC 9110, 15.2), but undici closes the connection at a 100.
 */
export class InterimAnswers {
  #answerBegun = false;
  #buffered: Buffer = Buffer.alloc(0);
  #bytes = 0;

  /** Call before a request is sent: the next bytes begin a response. */
  expect(): void {
    this.#answerBegun = false;
    this.#buffered = Buffer.alloc(0);
    this.#bytes = 0;
  }

  /** Returns the bytes of the final response, once its status is known. Throws SendError. */
  remove(bytes: Buffer): Buffer {
    if (this.#answerBegun) return bytes;
    this.#bytes += bytes.length;
    let rest = Buffer.concat([this.#buffered, bytes]);
    for (;;) {
      // HTTP parsers allow empty lines before a status line.
      const beginning = rest.findIndex((byte) => byte !== 0x0d && byte !== 0x0a);
      rest = rest.subarray(beginning < 0 ? rest.length : beginning);
      if (rest.length < STATUS_BYTES) break;
      const status = Number(STATUS.exec(rest.toString("latin1", 0, STATUS_BYTES))?.[1]);
      if (status >= 200) {
        this.#answerBegun = true;
        return rest;
      }
      // Other protocols, and a change of protocol (101), give no HTTP response.
      if (Number.isNaN(status) || status === 101)
        throw new SendError("connection", "The receiver did not answer in HTTP/1.1.");
      const end = rest.indexOf(HEAD_END);
      if (end < 0) break;
      rest = rest.subarray(end + HEAD_END.length);
    }
    if (this.#bytes > MAX_HEAD_BYTES)
      throw new SendError("too_large", "The receiver sent too much data before its answer.");
    this.#buffered = rest;
    return Buffer.alloc(0);
  }
}
