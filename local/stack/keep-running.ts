import { pause } from "../../shared/platform/pause.ts";

const FIRST_MS = 250;
const LONGEST_MS = 10_000;
/** After serving for this long, pauses are short again. */
const STEADY_MS = 5_000;

export type Backoff = {
  /** Waits before the next try: 250 ms at first, doubled by each call, at most 10 s. Ends early when aborted. */
  pause(signal: AbortSignal): Promise<void>;
  /** To be called when the process serves again. */
  served(): void;
};

/** Growing pauses between the restarts of a process that keeps ending. */
export function createBackoff(now: () => number = () => performance.now(), wait = pause): Backoff {
  let next = FIRST_MS;
  let servedAt: number | undefined;
  return {
    pause: async (signal) => {
      if (servedAt !== undefined && now() - servedAt >= STEADY_MS) next = FIRST_MS;
      servedAt = undefined;
      const ms = next;
      next = Math.min(next * 2, LONGEST_MS);
      await wait(ms, signal);
    },
    served: () => {
      servedAt = now();
    },
  };
}

const LARGEST_BYTES = 5_000_000;

/**
 * A log file of bounded size: at 5 MB it is renamed to `<path>.1`, replacing the older one, and a new file begins.
 * A line that cannot be written is dropped: a full disk or a removed folder must not end the stack.
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
      // The file then continues to grow, which is better than losing it.
    }
    this.#open();
  }
}
