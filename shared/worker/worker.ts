import { describeError, type Log } from "../platform/log.ts";
import { createCalls } from "./calls.ts";
import { type Clock, createAlarm, systemClock } from "../platform/clock.ts";
import type { WorkerLimits } from "./limits.ts";
import { createOpenWork } from "./open-work.ts";

export type ClaimRequest = {
  /** How many more pieces of work may be open. */
  free: number;
  /** The worker takes no more work, and gives back what it has leased and not started. */
  isStopping: boolean;
  /** How long the heartbeat is valid; 0 ends it. */
  heartbeatMs: number;
  /** How long the call may wait in the database if nothing is due. */
  waitMs: number;
  /** How long the last claim or record took, with all its calls, but without its wait. */
  callMs: number;
};

type WorkerSettings<Item> = {
  /** Claims work, records a heartbeat and returns what to start now. `more`: more is probably due. */
  claim(request: ClaimRequest): Promise<{ items: Item[]; more: boolean }>;
  work(item: Item, signal: AbortSignal): Promise<void>;
  /** Identifies the item in a log line. */
  identify(item: Item): Record<string, string>;
  /** Set for work whose results are recorded in batches with each claim. */
  results?: Results<Item>;
  log: Log;
  clock?: Clock;
  limits: WorkerLimits;
};

type Results<Item> = {
  /** `ready`: how many results can be recorded now. `pending`: how many there are, including those that wait for their next try. */
  ready(): number;
  pending(): number;
  /** Records results without claiming. */
  record(callMs: number): Promise<void>;
  /** Claimed items that can start now that another has ended. */
  next(): Item[];
};

const RECORDED_BY_WORK = { ready: () => 0, pending: () => 0, record: async () => undefined, next: () => [] };

/** A running instance of `generate` or `deliver`. No work waits for slow work to end, and one claim or record call is open at a time. */
export function createWorker<Item>(settings: WorkerSettings<Item>) {
  const { claim, results = RECORDED_BY_WORK, log, clock = systemClock, limits } = settings;
  const alarm = createAlarm(clock);
  const open = createOpenWork<Item>({ ...settings, clock, onEnd: startNext });
  const load = () => ({ open: open.count(), unrecorded: results.pending() });
  /** Set for a worker process, which claims until it aborts. An edge function has none: its runs end by themselves. */
  let stop: AbortSignal | null = null;
  const isStaying = () => stop?.aborted === false;
  const calls = createCalls({ load, isStaying, log, clock, limits });
  const isBusy = () => open.count() > 0 || results.pending() > 0;
  let running: Promise<void> | null = null;
  let kicked = false;
  let busyAt = 0;

  function startNext(): void {
    results.next().forEach(open.start);
    alarm.ring();
  }

  function call<Answer>(ask: (callMs: number) => Promise<Answer>, waitMs = 0): Promise<Answer | null> {
    kicked = false;
    return calls.make(ask, waitMs);
  }

  /** Waits until `end`, a kick, or results that are worth a call. At the end of a run it also stops when the last work has ended. */
  async function pause(end: number, isEnding = false): Promise<void> {
    while (!kicked) {
      const hasResults = results.ready() > 0;
      if (open.count() === 0 && (hasResults || (isEnding && !isBusy()))) return;
      const until = hasResults ? Math.min(end, calls.last().endedAt + limits.recordAfterMs) : end;
      if (until <= clock.now()) return;
      await alarm.sleep(until - clock.now());
    }
  }

  /** Returns true if more is probably due. */
  async function claimAndStart(isStopping: boolean, heartbeatMs: number, longestWaitMs: number): Promise<boolean> {
    const free = limits.maxOpen - open.count();
    const waitMs = !isStopping && free > 0 && results.ready() === 0 ? longestWaitMs : 0;
    const claimed = await call((callMs) => claim({ free, isStopping, heartbeatMs, waitMs, callMs }), waitMs);
    claimed?.items.forEach(open.start);
    if (claimed?.more || isBusy()) busyAt = clock.now();
    // `more` without items: all of it was obsolete or its endpoint is busy. Do not spin.
    if (claimed?.more && claimed.items.length === 0) await alarm.sleep(limits.recordAfterMs);
    return claimed?.more ?? false;
  }

  async function run(): Promise<void> {
    const end = clock.now() + limits.maxRunMs;
    const isOver = () => (stop === null ? clock.now() >= end : stop.aborted);
    const isClaiming = () => !isOver() && (stop !== null || clock.now() < busyAt + limits.idleGraceMs);
    do {
      // 1. Claims until there has been no work for the idle grace. Each claim records a heartbeat, so that Postgres sends no kick.
      while (isClaiming()) {
        const { claimEveryMs, heartbeatMs } = clock.now() < busyAt + limits.quietAfterMs ? limits : limits.quiet;
        const next = clock.now() + claimEveryMs;
        const records = results.ready() > 0; // this call does not wait in the database; the next one does
        if (!(await claimAndStart(false, heartbeatMs, claimEveryMs)) && (!records || isBusy())) await pause(next);
      }
      // 2. Ends the heartbeat, so that new work kicks again. A second claim finds work that was committed without a kick. A run that is
      // over leases nothing more: if work is due, the database kicks the next run.
      await claimAndStart(isOver(), 0, 0);
      if (!isClaiming()) await pause(clock.now() + limits.claimEveryMs);
      if (!isClaiming() && !kicked) await claimAndStart(isOver(), 0, 0);
    } while (isClaiming());
    // 3. Records results until all work has ended. A kick ends this run; the next begins while old work is still open.
    while (!kicked && isBusy()) {
      await pause(clock.now() + limits.endingEveryMs, true);
      if (!kicked) await call(results.record);
    }
  }

  return {
    /**
     * Starts a run, or makes the current one claim at once. Resolves when the run has ended: nothing is due or its time is over, its work has
     * ended, and the results are recorded. While the database is down, results are kept for the next run. Never rejects.
     */
    async kick(): Promise<void> {
      kicked = true;
      busyAt = clock.now();
      alarm.ring();
      // A kick after the final claim starts another run.
      while (kicked || running !== null) {
        running ??= run()
          .catch((error) => {
            kicked = false;
            log.error("worker_stopped", { reason: describeError(error) });
          })
          .finally(() => {
            running = null;
          });
        await running;
      }
    },

    /**
     * Claims until the signal aborts, even if nothing is due or the database is down. Then the worker claims nothing more, and ends as a run
     * does: it ends the heartbeat, so that Postgres kicks the function, and records the results of its open work. Never rejects.
     */
    async stay(until: AbortSignal): Promise<void> {
      stop = until;
      busyAt = clock.now();
      until.addEventListener("abort", () => {
        kicked = true;
        alarm.ring();
      });
      while (isStaying()) {
        await run().catch((error) => log.error("worker_stopped", { reason: describeError(error) }));
        if (isStaying()) await alarm.sleep(limits.maxDelayMs);
      }
    },

    /** Milliseconds since the database last answered; infinite if it never has. */
    answeredMsAgo: (): number => clock.now() - calls.last().endedAt,
  };
}
