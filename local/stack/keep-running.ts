import { existsSync } from "node:fs";
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
export function createBackoff(): Backoff {
  let next = FIRST_MS;
  let servedAt: number | undefined;
  return {
    pause: async (signal) => {
      if (servedAt !== undefined && performance.now() - servedAt >= STEADY_MS) next = FIRST_MS;
      servedAt = undefined;
      const ms = next;
      next = Math.min(next * 2, LONGEST_MS);
      await pause(ms, signal);
    },
    served: () => {
      servedAt = performance.now();
    },
  };
}

const LARGEST_BYTES = 5_000_000;

/**
 * A log file. One of over 5 MB is renamed to `<path>.1` when it is opened, which replaces an older one. A line that cannot be written is
 * dropped: a full disk or a removed folder must not end the stack.
 */
export class LogFile {
  #file: Deno.FsFile | undefined;

  constructor(path: string) {
    try {
      if (existsSync(path) && Deno.statSync(path).size > LARGEST_BYTES) Deno.renameSync(path, `${path}.1`);
      this.#file = Deno.openSync(path, { create: true, append: true });
    } catch {
      // Dropped, see above.
    }
  }

  write(line: string): void {
    try {
      this.#file?.writeSync(new TextEncoder().encode(`${line}\n`));
    } catch {
      // Dropped, see above.
    }
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }
}
