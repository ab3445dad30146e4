import { describeError, type Log } from "../../../../shared/platform/log.ts";
import type { Clock } from "./clock.ts";
import type { DrainLimits } from "./drain-limits.ts";

export type ExchangesSettings<Delivery, Result> = {
  /** Records results and leases due deliveries, in one call. With none due it may wait for one, at most waitMs. */
  exchange(
    results: Result[],
    maxRows: number,
    leaseSeconds: number,
    heartbeatMs: number,
    waitMs: number,
  ): Promise<Delivery[]>;
  /** Begins the requests for what a call gave. */
  start(deliveries: Delivery[]): void;
  /** How many requests are under way. */
  countRequests(): number;
  log: Log;
  clock: Clock;
  limits: DrainLimits;
};

/** The results to be recorded, and the calls of the database: two at most at once. */
export type Exchanges<Result> = {
  add(result: Result): void;
  /** Results that no call has taken yet. */
  waiting(): number;
  /** Since when they wait for more: the first of them came, or the last call ended. */
  waitingSince(): number;
  isCalling(): boolean;
  /** How many more deliveries may be asked for. */
  freeSlots(): number;
  /**
   * Records what there is and leases up to `places`; how many deliveries that gave. A failed call gives none, and rests a while
   * before it returns; throws when there is no more hope.
   */
  swap(places: number, promise: number, waitMs: number): Promise<number>;
  /** With results enough for it while a call is under way: the database works at both, and requests go on meanwhile. */
  swapBeside(): Promise<void> | null;
};

export function createExchanges<Delivery, Result>(settings: ExchangesSettings<Delivery, Result>): Exchanges<Result> {
  const { exchange, start, countRequests, log, clock, limits } = settings;
  let results: Result[] = [];
  let waitingSince = 0;
  /** Calls under way, and what they may bring. */
  let calling = 0;
  let askedFor = 0;
  let isBesideAnother = false;
  let failingSince: number | null = null;
  let failures = 0;

  const freeSlots = () => Math.max(0, Math.min(limits.maxInFlight - countRequests() - askedFor, limits.claimAtOnce));

  /** One call. A failed one keeps its results. */
  async function call(maxRows: number, promise: number, waitMs: number): Promise<number> {
    const sent = results.splice(0, limits.recordAtOnce);
    calling += 1;
    askedFor += maxRows;
    try {
      const deliveries = await exchange(sent, maxRows, limits.leaseSeconds, promise, waitMs);
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

  async function restAfter(error: unknown): Promise<void> {
    failingSince ??= clock.now();
    const shouldGiveUp = results.length === 0 || clock.now() - failingSince >= limits.giveUpAfter;
    if (calling === 0 && countRequests() === 0 && shouldGiveUp) {
      // Their leases bring the deliveries back: receivers may see an event twice, never not at all.
      results = [];
      failingSince = null;
      failures = 0;
      throw error;
    }
    const ms = Math.min(limits.retryEvery * 2 ** failures++, limits.retryAtMost);
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
    freeSlots,
    async swap(places, promise, waitMs) {
      try {
        return await call(places, promise, waitMs);
      } catch (error) {
        await restAfter(error);
        return 0;
      }
    },
    swapBeside() {
      if (calling === 0 || isBesideAnother || results.length < limits.recordAt) return null;
      isBesideAnother = true;
      return call(freeSlots(), limits.promise, 0)
        .catch(() => undefined)
        .then(() => {
          isBesideAnother = false;
        });
    },
  };
}
