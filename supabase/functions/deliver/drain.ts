import type { Log } from "../../../shared/log.ts";
import { describeError } from "../../../shared/provider/describe-error.ts";
import { createBell } from "./bell.ts";
import type { Clock } from "./clock.ts";
import { DRAIN_LIMITS, type DrainLimits } from "./drain-limits.ts";

export type DrainSettings<Delivery, Result> = {
  /** Records results and leases due deliveries, in one call. With none due it may wait for one, at most waitMs. */
  exchange(
    results: Result[],
    maxRows: number,
    leaseSeconds: number,
    lookAgainMs: number,
    waitMs: number,
  ): Promise<Delivery[]>;
  /** Makes one attempt. A rejection has no result to record; the lease then brings the delivery back. */
  attempt(delivery: Delivery): Promise<Result>;
  log: Log;
  clock: Clock;
  limits?: DrainLimits;
};

/**
 * Makes the one drain of a process. Each call is a kick: it starts looking for due deliveries, or makes the drain that is
 * looking look once more. Requests never wait for each other: while slow ones are under way, the results of quick ones are
 * recorded and the places they leave are filled. The promise never rejects; it resolves when nothing more is due and every
 * result is recorded or, the database being away for too long, given up.
 */
export function createDrain<Delivery, Result>(settings: DrainSettings<Delivery, Result>): () => Promise<void> {
  const { exchange, attempt, log, clock, limits = DRAIN_LIMITS } = settings;
  const bell = createBell(clock);
  /** Results to be recorded, and since when they wait for more: the first of them came, or the last call ended. */
  let results: Result[] = [];
  let waitingSince = 0;
  let inFlight = 0;
  /** Requests by the call that gave them: when they began, and how many are under way still. */
  const batches = new Set<{ since: number; open: number }>();
  let kicked = false;
  let lingerUntil = 0;
  let failingSince: number | null = null;
  let failures = 0;
  let running: Promise<void> | null = null;
  /** Calls under way, two at most, what they may bring, and the second of them. */
  let calling = 0;
  let askedFor = 0;
  let second: Promise<unknown> | null = null;
  let mayOverlap = false;

  function start(deliveries: Delivery[]): void {
    if (deliveries.length === 0) return;
    const batch = { since: clock.now(), open: deliveries.length };
    batches.add(batch);
    inFlight += deliveries.length;
    for (const delivery of deliveries) {
      void finish(delivery).then(() => {
        inFlight -= 1;
        batch.open -= 1;
        if (batch.open === 0) batches.delete(batch);
        overlap();
        bell.ring();
      });
    }
  }

  /** Attempts one delivery to its end, which is a result or a line in the log. */
  function finish(delivery: Delivery): Promise<void> {
    return attempt(delivery)
      .then((result) => {
        if (results.length === 0) waitingSince = clock.now();
        results.push(result);
      })
      .catch((error) => log.error("attempt_not_made", { reason: describeError(error) }));
  }

  /** Whether more results may come soon. A request that is slow by now may take all its time: nobody waits for it. */
  function expectsMore(): boolean {
    const soon = clock.now() - limits.slowAfter;
    return [...batches].some(({ since }) => since > soon);
  }

  /** Waits until results are worth a call, somebody kicks, or so many milliseconds have passed. */
  async function pause(ms: number): Promise<void> {
    const end = clock.now() + ms;
    while (!kicked && results.length < limits.recordAt && (results.length === 0 || expectsMore())) {
      const until = results.length === 0 ? end : Math.min(end, waitingSince + limits.recordAfter);
      const left = until - clock.now();
      if (left <= 0) return;
      await bell.wait(left);
    }
  }

  /** One call of the database; how many deliveries it gave. A failed one keeps its results. */
  async function call(maxRows: number, promise: number, wait: number): Promise<number> {
    const sent = results.splice(0, limits.recordAtOnce);
    calling += 1;
    askedFor += maxRows;
    try {
      const deliveries = await exchange(sent, maxRows, limits.leaseSeconds, promise, wait);
      failingSince = null;
      failures = 0;
      waitingSince = clock.now();
      if (deliveries.length > 0) lingerUntil = clock.now() + limits.linger;
      start(deliveries);
      return deliveries.length;
    } catch (error) {
      results = [...sent, ...results];
      log.error("exchange_failed", { reason: describeError(error), results: results.length, inFlight });
      throw error;
    } finally {
      calling -= 1;
      askedFor -= maxRows;
    }
  }

  /** A call whose failure makes the next one wait; throws when there is no more hope. */
  async function swap(maxRows: number, promise: number, wait: number): Promise<number> {
    try {
      return await call(maxRows, promise, wait);
    } catch (error) {
      failingSince ??= clock.now();
      const isPastHope = results.length === 0 || clock.now() - failingSince >= limits.giveUpAfter;
      if (calling === 0 && inFlight === 0 && isPastHope) {
        // Their leases bring the deliveries back: receivers may see an event twice, never not at all.
        results = [];
        failingSince = null;
        failures = 0;
        throw error;
      }
      const pauseMs = Math.min(limits.retryEvery * 2 ** failures++, limits.retryAtMost);
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
      return 0;
    }
  }

  const freePlaces = () => Math.max(0, Math.min(limits.maxInFlight - inFlight - askedFor, limits.claimAtOnce));

  /** While one call is under way, a second takes what has piled up: the database works at both, and requests go on meanwhile. */
  function overlap(): void {
    if (!mayOverlap || calling === 0 || second !== null || results.length < limits.recordAt) return;
    second = call(freePlaces(), limits.promise, 0)
      .catch(() => undefined)
      .then(() => {
        second = null;
        bell.ring();
      });
  }

  /** Records what there is and takes what is due; true when more is probably due than was taken. */
  async function look(promise: number, wait = 0): Promise<boolean> {
    kicked = false;
    const places = freePlaces();
    const taken = places > 0 || results.length > 0 ? await swap(places, promise, wait) : 0;
    if (places === 0) lingerUntil = clock.now() + limits.linger;
    return taken > 0 && taken === places;
  }

  async function run(): Promise<void> {
    const end = clock.now() + limits.lookFor;
    const isLooking = () => clock.now() < Math.min(end, lingerUntil);
    do {
      mayOverlap = true;
      while (isLooking()) {
        // With no result to come, the pause is spent in the database, which sees at once what is committed meanwhile.
        const isIdle = !kicked && calling === 0 && inFlight === 0 && results.length === 0;
        const next = clock.now() + limits.lookEvery;
        if (await look(limits.promise, isIdle ? limits.lookEvery : 0)) continue;
        // It comes back early where somebody else waits there.
        if (isIdle) await pause(next - clock.now());
        else if (inFlight > 0 || results.length > 0) await pause(limits.lookEvery);
      }
      mayOverlap = false;
      // What it promises, it promises before the last promise runs out.
      await second;
      // Whoever relied on the promise has committed by then, and whoever came after it kicks: the last look misses nobody.
      const lapsed = clock.now() + limits.promise + limits.lookEvery;
      while (clock.now() < lapsed && !isLooking()) {
        await pause(lapsed - clock.now());
        // The look that follows answers a kick; until the promise has lapsed it would come too early.
        kicked = false;
        if (results.length > 0) await swap(0, 0, 0);
      }
      if (!isLooking()) await look(0);
    } while (isLooking());
    while (!kicked && (inFlight > 0 || results.length > 0)) {
      await pause(Number.POSITIVE_INFINITY);
      if (results.length > 0) await swap(0, 0, 0);
    }
  }

  return async () => {
    kicked = true;
    lingerUntil = clock.now() + limits.linger;
    bell.ring();
    // A kick that came too late for the last look begins another run.
    while (kicked || running !== null) {
      running ??= run()
        .catch((error) => {
          kicked = false;
          mayOverlap = false;
          log.error("drain_stopped", { reason: describeError(error) });
        })
        .finally(() => {
          running = null;
        });
      await running;
    }
  };
}
