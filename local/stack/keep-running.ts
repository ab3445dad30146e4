import { existsSync } from "node:fs";
import { pause, retryDelay } from "../../shared/platform/retry.ts";

const BACKOFF = { minDelayMs: 250, maxDelayMs: 10_000 };
/** After serving for this long, pauses are short again. */
const STEADY_MS = 5_000;

/** Growing pauses between the restarts of a process that keeps ending. */
export class Backoff {
  #failures = 0;
  #servedAt = Number.POSITIVE_INFINITY;

  /** Waits before the next attempt. Ends early when aborted. */
  async pause(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#servedAt >= STEADY_MS) this.#failures = 0;
    this.#servedAt = Number.POSITIVE_INFINITY;
    this.#failures += 1;
    await pause(retryDelay(this.#failures, BACKOFF), signal);
  }

  /** To be called when the process serves again. */
  served(): void {
    this.#servedAt = performance.now();
  }
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
