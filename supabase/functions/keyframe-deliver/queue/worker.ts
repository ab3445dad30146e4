import { describeError, type Log } from "../../../../shared/platform/log.ts";
import { type Clock, createSignal } from "../../../../shared/worker/clock.ts";
import { createExchanges, type ExchangesSettings } from "./exchanges.ts";
import { createOpenRequests, type OpenRequestsSettings } from "./open-requests.ts";
import { WORKER_LIMITS, type WorkerLimits } from "./worker-limits.ts";

export type WorkerSettings<Delivery, Result> = {
  exchange: ExchangesSettings<Delivery, Result>["exchange"];
  attempt: OpenRequestsSettings<Delivery, Result>["attempt"];
  log: Log;
  clock: Clock;
  limits?: WorkerLimits;
};

/**
 * Creates the worker of a process. Each call is a kick: it starts a run, or makes the present run claim once more. Requests never wait
 * for each other: while slow ones are open, the results of quick ones are recorded and new deliveries are claimed. The returned promise
 * never rejects. It resolves when nothing is due and every result is recorded or, when the database is away for too long, dropped.
 */
export function createWorker<Delivery, Result>(settings: WorkerSettings<Delivery, Result>): () => Promise<void> {
  const { exchange, attempt, log, clock, limits = WORKER_LIMITS } = settings;
  const signal = createSignal(clock);
  let kicked = false;
  let idleUntil = 0;
  let running: Promise<void> | null = null;
  /** Whether a second concurrent call may begin: only while the run claims. */
  let mayOverlap = false;
  let secondCall: Promise<void> | null = null;

  const requests = createOpenRequests<Delivery, Result>({
    attempt,
    log,
    clock,
    onResult: (result) => exchanges.add(result),
    onEnd() {
      if (mayOverlap) secondCall = exchanges.startSecondCall()?.then(signal.notify) ?? secondCall;
      signal.notify();
    },
  });
  const exchanges = createExchanges<Delivery, Result>({
    exchange,
    log,
    clock,
    limits,
    countRequests: requests.count,
    start(deliveries) {
      if (deliveries.length > 0) idleUntil = clock.now() + limits.idleGraceMs;
      requests.start(deliveries);
    },
  });

  const isBusy = () => requests.count() > 0 || exchanges.waiting() > 0;

  /** Waits until results are worth a call, a kick arrives, or `ms` have passed. */
  async function pause(ms: number): Promise<void> {
    const end = clock.now() + ms;
    while (!kicked) {
      const waiting = exchanges.waiting();
      if (waiting >= limits.recordAt || (waiting > 0 && !requests.someBeganWithin(limits.slowAfterMs))) return;
      const until = waiting === 0 ? end : Math.min(end, exchanges.waitingSince() + limits.recordAfterMs);
      const left = until - clock.now();
      if (left <= 0) return;
      await signal.wait(left);
    }
  }

  const record = async () => void (exchanges.waiting() > 0 && (await exchanges.recordAndClaim(0, 0, 0)));

  /** Records results and claims deliveries; true when it got as many as it asked for, so that more are probably due. */
  async function claim(heartbeatMs: number, waitMs = 0): Promise<boolean> {
    kicked = false;
    const maxRows = exchanges.freeCapacity();
    const hasReason = maxRows > 0 || exchanges.waiting() > 0;
    const claimed = hasReason ? await exchanges.recordAndClaim(maxRows, heartbeatMs, waitMs) : 0;
    if (maxRows === 0) idleUntil = clock.now() + limits.idleGraceMs;
    return claimed > 0 && claimed === maxRows;
  }

  async function run(): Promise<void> {
    const end = clock.now() + limits.maxRunMs;
    const isClaiming = () => clock.now() < Math.min(end, idleUntil);
    do {
      mayOverlap = true;
      while (isClaiming()) {
        // Without open requests the pause is spent in the database, which returns as soon as a delivery is committed.
        const isIdle = !kicked && !exchanges.isCalling() && !isBusy();
        const next = clock.now() + limits.claimEveryMs;
        if (await claim(limits.heartbeatMs, isIdle ? limits.claimEveryMs : 0)) continue;
        // The database returns early when another process waits there already.
        if (isIdle) await pause(next - clock.now());
        else if (isBusy() || exchanges.isCalling()) await pause(limits.claimEveryMs);
      }
      mayOverlap = false;
      // The second call records a heartbeat too, so it must end before the expiry of the last heartbeat is computed.
      await secondCall;
      // Deliveries committed under the last heartbeat are visible once it has expired, and later ones kick: the final claim misses none.
      const expired = clock.now() + limits.heartbeatMs + limits.claimEveryMs;
      while (clock.now() < expired && !isClaiming()) {
        await pause(expired - clock.now());
        // The final claim answers a kick. Before the heartbeat has expired it would be too early.
        kicked = false;
        await record();
      }
      if (!isClaiming()) await claim(0);
    } while (isClaiming());
    while (!kicked && isBusy()) {
      await pause(Number.POSITIVE_INFINITY);
      await record();
    }
  }

  return async () => {
    kicked = true;
    idleUntil = clock.now() + limits.idleGraceMs;
    signal.notify();
    // A kick after the final claim starts another run.
    while (kicked || running !== null) {
      running ??= run()
        .catch((error) => {
          kicked = false;
          mayOverlap = false;
          log.error("worker_stopped", { reason: describeError(error) });
        })
        .finally(() => {
          running = null;
        });
      await running;
    }
  };
}
