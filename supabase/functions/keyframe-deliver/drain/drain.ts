import { describeError, type Log } from "../../../../shared/platform/log.ts";
import { type Clock, createSignal } from "./clock.ts";
import { DRAIN_LIMITS, type DrainLimits } from "./drain-limits.ts";
import { createExchanges, type ExchangesSettings } from "./exchanges.ts";
import { createOpenRequests, type OpenRequestsSettings } from "../send/open-requests.ts";

export type DrainSettings<Delivery, Result> = {
  exchange: ExchangesSettings<Delivery, Result>["exchange"];
  attempt: OpenRequestsSettings<Delivery, Result>["attempt"];
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
  const bell = createSignal(clock);
  let kicked = false;
  let idleUntil = 0;
  let running: Promise<void> | null = null;
  /** Whether a call may begin beside another: only while the run looks. */
  let mayOverlap = false;
  /** That call. */
  let beside: Promise<void> | null = null;

  const requests = createOpenRequests<Delivery, Result>({
    attempt,
    log,
    clock,
    onResult: (result) => exchanges.add(result),
    onEnd() {
      if (mayOverlap) beside = exchanges.swapBeside()?.then(bell.ring) ?? beside;
      bell.ring();
    },
  });
  const exchanges = createExchanges<Delivery, Result>({
    exchange,
    log,
    clock,
    limits,
    countRequests: requests.count,
    start(deliveries) {
      if (deliveries.length > 0) idleUntil = clock.now() + limits.linger;
      requests.start(deliveries);
    },
  });

  const isBusy = () => requests.count() > 0 || exchanges.waiting() > 0;

  /** Waits until results are worth a call, somebody kicks, or so many milliseconds have passed. */
  async function pause(ms: number): Promise<void> {
    const end = clock.now() + ms;
    while (!kicked) {
      const waiting = exchanges.waiting();
      if (waiting >= limits.recordAt || (waiting > 0 && !requests.someBeganWithin(limits.slowAfter))) return;
      const until = waiting === 0 ? end : Math.min(end, exchanges.waitingSince() + limits.recordAfter);
      const left = until - clock.now();
      if (left <= 0) return;
      await bell.wait(left);
    }
  }

  const record = async () => void (exchanges.waiting() > 0 && (await exchanges.swap(0, 0, 0)));

  /** Records what there is and takes what is due; true when more is probably due than was taken. */
  async function look(promise: number, waitMs = 0): Promise<boolean> {
    kicked = false;
    const places = exchanges.freeSlots();
    const taken = places > 0 || exchanges.waiting() > 0 ? await exchanges.swap(places, promise, waitMs) : 0;
    if (places === 0) idleUntil = clock.now() + limits.linger;
    return taken > 0 && taken === places;
  }

  async function run(): Promise<void> {
    const end = clock.now() + limits.lookFor;
    const isLooking = () => clock.now() < Math.min(end, idleUntil);
    do {
      mayOverlap = true;
      while (isLooking()) {
        // With no result to come, the pause is spent in the database, which sees at once what is committed meanwhile.
        const isIdle = !kicked && !exchanges.isCalling() && !isBusy();
        const next = clock.now() + limits.lookEvery;
        if (await look(limits.promise, isIdle ? limits.lookEvery : 0)) continue;
        // It comes back early where somebody else waits there.
        if (isIdle) await pause(next - clock.now());
        else if (isBusy() || exchanges.isCalling()) await pause(limits.lookEvery);
      }
      mayOverlap = false;
      // A call beside another makes a promise too: it has ended before the time of the last promise is taken.
      await beside;
      // Whoever relied on the promise has committed by then, and whoever came after it kicks: the last look misses nobody.
      const lapsed = clock.now() + limits.promise + limits.lookEvery;
      while (clock.now() < lapsed && !isLooking()) {
        await pause(lapsed - clock.now());
        // The look that follows answers a kick; until the promise has lapsed it would come too early.
        kicked = false;
        await record();
      }
      if (!isLooking()) await look(0);
    } while (isLooking());
    while (!kicked && isBusy()) {
      await pause(Number.POSITIVE_INFINITY);
      await record();
    }
  }

  return async () => {
    kicked = true;
    idleUntil = clock.now() + limits.linger;
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
