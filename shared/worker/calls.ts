import { describeError, type Log } from "../platform/log.ts";
import { retryDelay } from "../platform/retry.ts";
import type { Clock } from "../platform/clock.ts";

type CallsSettings = {
  /** The worker's open pieces of work, and results that are not recorded yet. */
  load(): { open: number; unrecorded: number };
  /** While true, no failure ends the run. */
  isStaying(): boolean;
  log: Log;
  clock: Clock;
  limits: { minDelayMs: number; maxDelayMs: number; giveUpAfterMs: number; slowCallMs: number; slowLogEveryMs: number };
};

/** Makes the claim and record calls of a worker, one at a time. It measures them, and pauses after one that failed. */
export function createCalls({ load, isStaying, log, clock, limits }: CallsSettings) {
  let last = { endedAt: Number.NEGATIVE_INFINITY, ms: 0 };
  let slowLoggedAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let failingSince = 0;

  function logIfSlow({ endedAt, ms }: typeof last): void {
    if (ms < limits.slowCallMs || endedAt - slowLoggedAt < limits.slowLogEveryMs) return;
    log.warn("database_slow", { ms: Math.round(ms), ...load() });
    slowLoggedAt = endedAt;
  }

  return {
    last: () => last,

    /**
     * `waitMs`: how long the call may wait for work, which is no part of its time: all of waitMs is subtracted, so a call that returned early
     * is under-reported. Null after a failure and a pause. Throws when another attempt makes no sense now.
     */
    async make<Answer>(ask: (lastMs: number) => Promise<Answer>, waitMs: number): Promise<Answer | null> {
      const startedAt = clock.now();
      try {
        const answer = await ask(last.ms);
        failures = 0;
        last = { endedAt: clock.now(), ms: Math.max(0, clock.now() - startedAt - waitMs) };
        logIfSlow(last);
        return answer;
      } catch (error) {
        log.error("call_failed", { reason: describeError(error), ...load() });
        if (failures === 0) failingSince = clock.now();
        failures += 1;
        const { open, unrecorded } = load();
        const isHopeless = unrecorded === 0 || clock.now() - failingSince >= limits.giveUpAfterMs;
        if (open === 0 && isHopeless && !isStaying()) throw error;
        await new Promise<void>((resolve) => void clock.after(retryDelay(failures, limits), resolve));
        return null;
      }
    },
  };
}
