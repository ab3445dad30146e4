const LARGEST_BYTES = 5_000_000;

/**
 * A log that never outgrows the disk: at 5 MB it becomes `<path>.1`, replacing an older one, and a new file begins.
 * What cannot be written is dropped: a full disk or a removed folder must not end the stack.
 */
export class LogFile {
  readonly #path: string;
  readonly #largestBytes: number;
  #file: Deno.FsFile | undefined;
  #bytes = 0;

  constructor(path: string, largestBytes: number = LARGEST_BYTES) {
    this.#path = path;
    this.#largestBytes = largestBytes;
    this.#open();
  }

  write(line: string): void {
    if (this.#bytes > this.#largestBytes) this.#rotate();
    try {
      this.#bytes += this.#file?.writeSync(new TextEncoder().encode(`${line}\n`)) ?? 0;
    } catch {
      // Dropped, see above.
    }
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #open(): void {
    try {
      this.#file = Deno.openSync(this.#path, { create: true, append: true });
      this.#bytes = this.#file.statSync().size;
    } catch {
      this.#file = undefined;
    }
  }

  #rotate(): void {
    this.close();
    try {
      Deno.renameSync(this.#path, `${this.#path}.1`);
    } catch {
      // Then the same file goes on growing, which is better than losing what it holds.
    }
    this.#open();
  }
}
