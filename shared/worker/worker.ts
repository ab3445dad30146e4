import { describeError, type Log } from "../platform/log.ts";

export type WorkerSettings<Item> = {
  /**
   * Claims work, records a heartbeat and returns what to start, at most `room` items. With nothing due it may wait up to waitMs.
   * `callMs`: how long the last database call took. `more`: probably more is due.
   */
  claim(room: number, heartbeatMs: number, waitMs: number, callMs: number): Promise<{ items: Item[]; more: boolean }>;
  work(item: Item, signal: AbortSignal): Promise<void>;
  /** Names the item in a log line. */
  identify(item: Item): Record<string, string>;
  /** For work whose results are recorded in batches, with each claim. */
  results?: {
    /** How many can be recorded now, and how many there are: some wait until they can be tried again. */
    ready(): number;
    pending(): number;
    /** Records them without claiming. */
    record(callMs: number): Promise<void>;
    /** Claimed items that can start now that another has ended. */
    next(): Item[];
  };
  log: Log;
  clock?: Clock;
  limits: WorkerLimits;
};

const NO_RESULTS = { ready: () => 0, pending: () => 0, record: async () => undefined, next: () => [] };

/**
 * Creates the worker of a process. Each call is a kick: it starts a run, or makes the present run claim once more. Work never waits for
 * other work, and one database call is open at a time. The returned promise never rejects. It resolves when nothing is due, all
 * work has ended, and its results are recorded or, while the database is away, kept for the next run.
 */
export function createWorker<Item>(settings: WorkerSettings<Item>): () => Promise<void> {
  const { claim, work, identify, results = NO_RESULTS, log, clock = systemClock, limits } = settings;
  let wake = (): void => undefined;
  let running: Promise<void> | null = null;
  let kicked = false;
  let open = 0;
  let idleUntil = 0;
  let calledAt = 0;
  let callMs = 0;
  let slowLoggedAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let failingSince = 0;
  const isBusy = () => open > 0 || results.pending() > 0;

  /** Counts as ended when it ends, or abortGraceMs after its signal aborted. */
  async function start(item: Item): Promise<void> {
    open += 1;
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
    open -= 1;
    results.next().forEach(start);
    wake();
  }

  /** Null after a failure and a pause. Throws when another try makes no sense now. */
  async function call<Answer>(ask: () => Promise<Answer>): Promise<Answer | null> {
    kicked = false;
    const askedAt = clock.now();
    try {
      const answer = await ask();
      failures = 0;
      calledAt = clock.now();
      callMs = calledAt - askedAt;
      if (callMs >= limits.slowCallMs && calledAt - slowLoggedAt >= limits.slowLogEveryMs) {
        log.warn("database_slow", { ms: Math.round(callMs), unrecorded: results.pending(), open });
        slowLoggedAt = calledAt;
      }
      return answer;
    } catch (error) {
      log.error("call_failed", { reason: describeError(error), unrecorded: results.pending(), open });
      if (failures === 0) failingSince = clock.now();
      const ms = Math.min(limits.retryDelayMs * 2 ** failures++, limits.maxRetryDelayMs);
      if (open === 0 && (results.pending() === 0 || clock.now() - failingSince >= limits.giveUpAfterMs)) throw error;
      await new Promise<void>((resolve) => void clock.after(ms, resolve));
      return null;
    }
  }

  /** Waits until `end`, a kick, or results that are worth a call; at the end of a run also until the last work has ended. */
  async function pause(end: number, isEnding = false): Promise<void> {
    while (!kicked) {
      const count = results.ready();
      if (open === 0 && (count > 0 || (isEnding && !isBusy()))) return;
      const left = (count > 0 ? Math.min(end, calledAt + limits.recordAfterMs) : end) - clock.now();
      if (left <= 0) return;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(left, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
    }
  }

  /** True when more is probably due. */
  async function claimAndStart(heartbeatMs = limits.heartbeatMs, waitMs = limits.claimEveryMs): Promise<boolean> {
    const room = limits.maxOpen - open;
    const mayWait = room > 0 && results.ready() === 0;
    const claimed = await call(() => claim(room, heartbeatMs, mayWait ? waitMs : 0, callMs));
    claimed?.items.forEach(start);
    if (claimed?.more || isBusy()) idleUntil = clock.now() + limits.idleGraceMs;
    return claimed?.more ?? false;
  }

  async function run(): Promise<void> {
    const end = clock.now() + limits.maxRunMs;
    const isClaiming = () => clock.now() < Math.min(end, idleUntil);
    do {
      // 1. Claims until there has been no work for the idle grace. Each claim records a heartbeat: nobody kicks this worker.
      while (isClaiming()) {
        const next = clock.now() + limits.claimEveryMs;
        const records = results.ready() > 0; // then this call does not wait in the database: the next one does, at once
        if (!(await claimAndStart()) && (!records || isBusy())) await pause(next);
      }
      // 2. Ends the heartbeat, so that new work kicks again. A second claim finds what was being committed without a kick.
      await claimAndStart(0, 0);
      if (!isClaiming()) await pause(clock.now() + limits.claimEveryMs);
      if (!isClaiming()) await claimAndStart(0, 0);
    } while (isClaiming());
    // 3. Records results until all work has ended. Each call renews leases. A kick begins another run beside that work.
    while (!kicked && isBusy()) {
      await pause(clock.now() + limits.renewEveryMs, true);
      if (!kicked) await call(() => results.record(callMs));
    }
  }

  return async () => {
    kicked = true;
    idleUntil = clock.now() + limits.idleGraceMs;
    wake();
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
  };
}

/** Time as the worker sees it. Tests advance it by hand. */
export type Clock = {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Calls `call` once after `ms`, unless the returned function is called before. */
  after(ms: number, call: () => void): () => void;
};

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** What both workers have in common, in milliseconds. */
export const COMMON_LIMITS = {
  /** How long one run claims. With workMs and giveUpAfterMs far below the platform's limit of 150 s. */
  maxRunMs: 30_000,
  /** Grace after an abort: work that goes on for longer counts as ended. */
  abortGraceMs: 5_000,
  /** How long the worker keeps claiming after its last work: new work then starts without a kick. */
  idleGraceMs: 2_000,
  /** The longest pause between two claims. With nothing due it is spent in the database. */
  claimEveryMs: 100,
  /** How long the heartbeat of a claim is valid. Postgres sends no kick meanwhile. */
  heartbeatMs: 300,
  /** Results wait this long after a call for others, unless nothing is open. */
  recordAfterMs: 20,
  /** The longest pause between two calls while the last work ends: leases are renewed with each. */
  renewEveryMs: 2_000,
  /** The pause after a failed call. It doubles with each failure, up to maxRetryDelayMs. */
  retryDelayMs: 250,
  maxRetryDelayMs: 2_000,
  giveUpAfterMs: 20_000,
  /** A database call that takes so long is logged, at most once in slowLogEveryMs. */
  slowCallMs: 1_000,
  slowLogEveryMs: 10_000,
};

/** `workMs`: after this the signal of a piece of work aborts. */
export type WorkerLimits = typeof COMMON_LIMITS & { maxOpen: number; workMs: number };
