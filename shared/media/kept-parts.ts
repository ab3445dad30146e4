/** The parts of a buffer that are kept, moved to its front one behind the other: 10 MiB are not there twice. */
export class KeptParts {
  readonly #bytes: Uint8Array;
  #length = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Each call begins where the one before ended, or later. */
  keep(start: number, end: number): void {
    if (start !== this.#length) this.#bytes.copyWithin(this.#length, start, end);
    this.#length += end - start;
  }

  /** In the place of a part that is not kept and is no shorter. */
  put(...parts: ArrayLike<number>[]): void {
    for (const part of parts) {
      this.#bytes.set(part, this.#length);
      this.#length += part.length;
    }
  }

  get all(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}
