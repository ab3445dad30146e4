import { describeError, type Log } from "../../../../shared/platform/log.ts";
import type { Clock } from "../../../../shared/worker/clock.ts";
import type { WorkerLimits } from "./worker-limits.ts";

export type ExchangesSettings<Delivery, Result> = {
  /** Records results and leases due deliveries in one call. When none is due it may wait up to waitMs for one. */
  exchange(
    results: Result[],
    maxRows: number,
    leaseSeconds: number,
    heartbeatMs: number,
    waitMs: number,
  ): Promise<Delivery[]>;
  /** Starts the requests for the claimed deliveries. */
  start(deliveries: Delivery[]): void;
  /** How many requests are open. */
  countRequests(): number;
  log: Log;
  clock: Clock;
  limits: WorkerLimits;
};

/** The results to record, and the calls of the database: at most two at once. */
export type Exchanges<Result> = {
  add(result: Result): void;
  /** Results that no call has taken yet. */
  waiting(): number;
  /** When the first of them came, or when the last call ended. */
  waitingSince(): number;
  isCalling(): boolean;
  /** How many more deliveries may be claimed. */
  freeCapacity(): number;
  /**
   * Records the results and claims up to `maxRows` deliveries; returns how many it got. A failed call returns 0 after a pause; it throws
   * when retrying makes no sense any more.
   */
  recordAndClaim(maxRows: number, heartbeatMs: number, waitMs: number): Promise<number>;
  /** Makes a second call beside the present one when there are enough results for it; null otherwise. */
  startSecondCall(): Promise<void> | null;
};

export function createExchanges<Delivery, Result>(settings: ExchangesSettings<Delivery, Result>): Exchanges<Result> {
  const { exchange, start, countRequests, log, clock, limits } = settings;
  let results: Result[] = [];
  let waitingSince = 0;
  /** Calls in progress, and how many deliveries they asked for. */
  let calling = 0;
  let askedFor = 0;
  let hasSecondCall = false;
  let failingSince: number | null = null;
  let failures = 0;

  const freeCapacity = () => Math.max(0, Math.min(limits.maxInFlight - countRequests() - askedFor, limits.claimAtOnce));

  /** A failed call keeps its results. */
  async function call(maxRows: number, heartbeatMs: number, waitMs: number): Promise<number> {
    const sent = results.splice(0, limits.recordAtOnce);
    calling += 1;
    askedFor += maxRows;
    try {
      const deliveries = await exchange(sent, maxRows, limits.leaseSeconds, heartbeatMs, waitMs);
      failingSince = null;
      failures = 0;
      waitingSince = clock.now();
      start(deliveries);
      return deliveries.length;
    } catch (error) {
      results = [...sent, ...results];
      log.error("exchange_failed", {
        reason: describeError(error),
        results: results.length,
        inFlight: countRequests(),
      });
      throw error;
    } finally {
      calling -= 1;
      askedFor -= maxRows;
    }
  }

  async function pauseAfter(error: unknown): Promise<void> {
    failingSince ??= clock.now();
    const shouldGiveUp = results.length === 0 || clock.now() - failingSince >= limits.giveUpAfterMs;
    if (calling === 0 && countRequests() === 0 && shouldGiveUp) {
      // The deliveries are sent again when their leases expire: a receiver may get an event twice, but never misses it.
      results = [];
      failingSince = null;
      failures = 0;
      throw error;
    }
    const ms = Math.min(limits.retryDelayMs * 2 ** failures++, limits.maxRetryDelayMs);
    await new Promise<void>((resolve) => void clock.after(ms, resolve));
  }

  return {
    add(result) {
      if (results.length === 0) waitingSince = clock.now();
      results.push(result);
    },
    waiting: () => results.length,
    waitingSince: () => waitingSince,
    isCalling: () => calling > 0,
    freeCapacity,
    async recordAndClaim(maxRows, heartbeatMs, waitMs) {
      try {
        return await call(maxRows, heartbeatMs, waitMs);
      } catch (error) {
        await pauseAfter(error);
        return 0;
      }
    },
    startSecondCall() {
      if (calling === 0 || hasSecondCall || results.length < limits.recordAt) return null;
      hasSecondCall = true;
      return call(freeCapacity(), limits.heartbeatMs, 0)
        .catch(() => undefined)
        .then(() => {
          hasSecondCall = false;
        });
    },
  };
}
