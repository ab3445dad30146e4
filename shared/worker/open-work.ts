import { describeError, type Log } from "../platform/log.ts";
import type { Clock } from "../platform/clock.ts";

type OpenWorkSettings<Item> = {
  work(item: Item, signal: AbortSignal): Promise<void>;
  /** Identifies the item in a log line. */
  identify(item: Item): Record<string, string>;
  /** Called when a piece of work has ended. */
  onEnd(): void;
  log: Log;
  clock: Clock;
  limits: { workMs: number; abortGraceMs: number };
};

/** The pieces of work that a worker has open. */
export function createOpenWork<Item>({ work, identify, onEnd, log, clock, limits }: OpenWorkSettings<Item>) {
  let count = 0;
  return {
    count: () => count,
    /** Starts work. It counts as ended when it ends, or abortGraceMs after its signal aborted. */
    async start(item: Item): Promise<void> {
      count += 1;
      const abort = new AbortController();
      const hung = Promise.withResolvers<void>();
      const cancelAbort = clock.after(limits.workMs, () =>
        abort.abort(new DOMException("The work took too long.", "TimeoutError")),
      );
      const cancelHung = clock.after(limits.workMs + limits.abortGraceMs, () => {
        log.error("work_hangs", identify(item));
        hung.resolve();
      });
      const done = work(item, abort.signal).catch((error) =>
        log.error("work_failed", { ...identify(item), reason: describeError(error) }),
      );
      await Promise.race([done, hung.promise]);
      cancelAbort();
      cancelHung();
      count -= 1;
      onEnd();
    },
  };
}
