import { describeError, type Log } from "../platform/log.ts";
import { retryDelay } from "../platform/retry.ts";
import type { Clock } from "./clock.ts";

type Settings = {
  /** What the worker has: pieces of work that are open, and results that no call has recorded yet. */
  load(): { open: number; unrecorded: number };
  log: Log;
  clock: Clock;
  limits: { minDelayMs: number; maxDelayMs: number; giveUpAfterMs: number; slowCallMs: number; slowLogEveryMs: number };
};

/** The database calls of a worker, one at a time: measures them, and pauses after one that failed. */
export function createCalls({ load, log, clock, limits }: Settings) {
  let last = { endedAt: 0, ms: 0 };
  let slowLoggedAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let failingSince = 0;

  function logIfSlow({ endedAt, ms }: typeof last): void {
    if (ms < limits.slowCallMs || endedAt - slowLoggedAt < limits.slowLogEveryMs) return;
    log.warn("database_slow", { ms: Math.round(ms), ...load() });
    slowLoggedAt = endedAt;
  }

  return {
    /** The last call that was answered. */
    last: () => last,

    /** Null after a failure and a pause. Throws when another attempt makes no sense now. */
    async make<Answer>(ask: (lastMs: number) => Promise<Answer>): Promise<Answer | null> {
      const askedAt = clock.now();
      try {
        const answer = await ask(last.ms);
        failures = 0;
        last = { endedAt: clock.now(), ms: clock.now() - askedAt };
        logIfSlow(last);
        return answer;
      } catch (error) {
        log.error("call_failed", { reason: describeError(error), ...load() });
        if (failures === 0) failingSince = clock.now();
        failures += 1;
        const { open, unrecorded } = load();
        if (open === 0 && (unrecorded === 0 || clock.now() - failingSince >= limits.giveUpAfterMs)) throw error;
        await new Promise<void>((resolve) => void clock.after(retryDelay(failures, limits), resolve));
        return null;
      }
    },
  };
}
