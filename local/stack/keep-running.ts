import { existsSync } from "node:fs";
import { pause, retryDelay } from "../../shared/platform/retry.ts";

const BACKOFF = { minDelayMs: 250, maxDelayMs: 10_000 };
/** After serving for this long, pauses are short again. */
const STEADY_MS = 5_000;

type Kept = {
  /** Settles when the present run has ended. */
  ended: () => Promise<unknown>;
  /** Settles when the run serves. Must start the program before it awaits anything: the end of the whole stack must not miss it. */
  restart: () => Promise<void>;
  onFailure: (error: unknown) => void;
};

/** Restarts what has ended until `stopping` is aborted, as the hosted platform does, with growing pauses while it keeps ending. */
export async function keepRunning({ ended, restart, onFailure }: Kept, stopping: AbortSignal): Promise<void> {
  let failures = 0;
  let servedAt = Number.POSITIVE_INFINITY;
  while (true) {
    await ended();
    if (performance.now() - servedAt >= STEADY_MS) failures = 0;
    servedAt = Number.POSITIVE_INFINITY;
    failures += 1;
    await pause(retryDelay(failures, BACKOFF), stopping);
    if (stopping.aborted) return;
    await restart().then(() => {
      servedAt = performance.now();
    }, onFailure);
  }
}

const LARGEST_BYTES = 5_000_000;

/**
 * A log file. A file of over 5 MB is renamed to `<path>.1` when it is opened, which replaces an older one. A line that cannot be written is
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
