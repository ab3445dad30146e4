import { describeError, type Log } from "../platform/log.ts";
import { retryDelay } from "../platform/retry.ts";
import { type Clock, createAlarm, systemClock } from "./clock.ts";

type WorkerSettings<Item> = {
  /**
   * Claims work, records a heartbeat and returns what to start, at most `room` items. With nothing due it may wait up to waitMs.
   * `callMs`: how long the last database call took. `more`: probably more is due.
   */
  claim(room: number, heartbeatMs: number, waitMs: number, callMs: number): Promise<{ items: Item[]; more: boolean }>;
  work(item: Item, signal: AbortSignal): Promise<void>;
  /** Identifies the item in a log line. */
  identify(item: Item): Record<string, string>;
  /** For work whose results are recorded in batches with each claim. */
  results?: Results<Item>;
  log: Log;
  clock?: Clock;
  limits: WorkerLimits;
};

type Results<Item> = {
  /** How many can be recorded now, and how many there are: some wait for their next try. */
  ready(): number;
  pending(): number;
  /** Records them without claiming. */
  record(callMs: number): Promise<void>;
  /** Claimed items that can start now that another has ended. */
  next(): Item[];
};

const RECORDED_BY_WORK = { ready: () => 0, pending: () => 0, record: async () => undefined, next: () => [] };

/** A running instance of `generate` or `deliver`. Work never waits for other work, and one database call is open at a time. */
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

  function call<Answer>(ask: (lastMs: number) => Promise<Answer>): Promise<Answer | null> {
    kicked = false;
    return calls.make(ask);
  }

  /** Waits until `end`, a kick, or results that are worth a call; at the end of a run also until the last work has ended. */
  async function pause(end: number, isEnding = false): Promise<void> {
    while (!kicked) {
      const hasResults = results.ready() > 0;
      if (open.count() === 0 && (hasResults || (isEnding && !isBusy()))) return;
      const until = hasResults ? Math.min(end, calls.last().endedAt + limits.recordAfterMs) : end;
      if (until <= clock.now()) return;
      await alarm.sleep(until - clock.now());
    }
  }

  /** True when more is probably due. */
  async function claimAndStart(heartbeatMs: number, waitMs: number): Promise<boolean> {
    const room = stop?.aborted ? 0 : limits.maxOpen - open.count();
    const mayWait = room > 0 && results.ready() === 0;
    const claimed = await call((lastMs) => claim(room, heartbeatMs, mayWait ? waitMs : 0, lastMs));
    claimed?.items.forEach(open.start);
    if (claimed?.more || isBusy()) busyAt = clock.now();
    if (claimed?.more && claimed.items.length === 0) await alarm.sleep(limits.recordAfterMs); // no place is free for due work
    return claimed?.more ?? false;
  }

  async function run(): Promise<void> {
    const end = clock.now() + limits.maxRunMs;
    const isClaiming = () => (stop === null ? clock.now() < Math.min(end, busyAt + limits.idleGraceMs) : isStaying());
    do {
      // 1. Claims until there has been no work for the idle grace. Each claim records a heartbeat, so that Postgres sends no kick.
      while (isClaiming()) {
        const { claimEveryMs, heartbeatMs } = clock.now() < busyAt + limits.quietAfterMs ? limits : limits.quiet;
        const next = clock.now() + claimEveryMs;
        const records = results.ready() > 0; // this call does not wait in the database; the next one does
        if (!(await claimAndStart(heartbeatMs, claimEveryMs)) && (!records || isBusy())) await pause(next);
      }
      // 2. Ends the heartbeat, so that new work kicks again. A second claim finds work that was committed without a kick.
      await claimAndStart(0, 0);
      if (!isClaiming()) await pause(clock.now() + limits.claimEveryMs);
      if (!isClaiming() && !kicked) await claimAndStart(0, 0);
    } while (isClaiming());
    // 3. Records results until all work has ended. A kick starts another run in parallel.
    while (!kicked && isBusy()) {
      await pause(clock.now() + limits.endingEveryMs, true);
      if (!kicked) await call(results.record);
    }
  }

  return {
    /**
     * Starts a run, or makes the current run claim once more. Never rejects. Resolves when nothing is due, all work has ended, and its
     * results are recorded or, while the database is down, kept for the next run.
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
     * Claims until the signal aborts, even if nothing is due or the database is down. Then it claims nothing more, and ends as a run
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

    /** Milliseconds since the database last answered; infinite when it never has. */
    answeredMsAgo: (): number => clock.now() - calls.last().endedAt,
  };
}

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
function createOpenWork<Item>({ work, identify, onEnd, log, clock, limits }: OpenWorkSettings<Item>) {
  let count = 0;
  return {
    count: () => count,
    /** The work counts as ended when it ends, or abortGraceMs after its signal aborted. */
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

type CallsSettings = {
  /** The worker's open pieces of work, and results that are not recorded yet. */
  load(): { open: number; unrecorded: number };
  /** Without it, no call is the last attempt. */
  isStaying(): boolean;
  log: Log;
  clock: Clock;
  limits: { minDelayMs: number; maxDelayMs: number; giveUpAfterMs: number; slowCallMs: number; slowLogEveryMs: number };
};

/** The database calls of a worker, one at a time: measures them, and pauses after one that failed. */
function createCalls({ load, isStaying, log, clock, limits }: CallsSettings) {
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
    /** The last answered call. */
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
        const isHopeless = unrecorded === 0 || clock.now() - failingSince >= limits.giveUpAfterMs;
        if (open === 0 && isHopeless && !isStaying()) throw error;
        await new Promise<void>((resolve) => void clock.after(retryDelay(failures, limits), resolve));
        return null;
      }
    },
  };
}

/** The time limits of both functions' workers, in milliseconds. */
export const COMMON_LIMITS = {
  /** How long one run claims. With workMs (80 s), abortGraceMs and giveUpAfterMs at most 135 s: below the platform's limit of 150 s. */
  maxRunMs: 30_000,
  /** Grace after an abort: work that runs longer counts as ended. */
  abortGraceMs: 5_000,
  /** How long the worker keeps claiming after its last work: new work then starts without a kick. */
  idleGraceMs: 2_000,
  /** The longest pause between two claims. With nothing due it is spent in the database. */
  claimEveryMs: 100,
  /** How long the heartbeat of a claim is valid. Postgres sends no kick meanwhile. */
  heartbeatMs: 300,
  /**
   * The same for a process that has had no work for quietAfterMs: a fifth of the calls, and a check every 10 ms (wait_for_due). A call that
   * waited for as long as slowCallMs would count as slow.
   */
  quietAfterMs: 60_000,
  quiet: { claimEveryMs: 500, heartbeatMs: 1_500 },
  /** Results wait this long after a call for others, unless nothing is open. */
  recordAfterMs: 20,
  /** The longest pause between two calls while the last work ends: they record again what could not be recorded before. */
  endingEveryMs: 2_000,
  /** The delays after failed calls (retry.ts), and when a run without open work gives up. */
  minDelayMs: 250,
  maxDelayMs: 2_000,
  giveUpAfterMs: 20_000,
  /** A database call that takes this long is logged, at most once in slowLogEveryMs. */
  slowCallMs: 1_000,
  slowLogEveryMs: 10_000,
};

/** `workMs`: after this the signal of a piece of work aborts. */
export type WorkerLimits = typeof COMMON_LIMITS & { maxOpen: number; workMs: number };
