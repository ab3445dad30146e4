import { describeError, type Log } from "../../../shared/platform/log.ts";
import type { Claimed } from "./database.ts";
import { identify } from "./tasks/task.ts";

/** Milliseconds, but for leaseSeconds. */
export type DrainLimits = {
  /** How long one drain takes on new work. With taskMs well below the platform's 150 s of wall clock. */
  lookFor: number;
  /** How long one task may take. */
  taskMs: number;
  /** Longer than taskMs by what recording a result takes: who loses a lease must have stopped working. */
  leaseSeconds: number;
  maxTasks: number;
  claimAtOnce: number;
  /** With nothing due it goes on looking so long: new work then starts at once instead of after a kick. */
  linger: number;
  /** Between two looks. The database waits so long itself for something to become due; only one drain at a time is let wait there. */
  lookEvery: number;
  /** What each look promises: while it holds, Postgres sends no kick. */
  promise: number;
};

export const DRAIN_LIMITS: DrainLimits = {
  lookFor: 30_000,
  taskMs: 80_000,
  leaseSeconds: 90,
  maxTasks: 32,
  claimAtOnce: 10,
  linger: 2_000,
  lookEvery: 100,
  promise: 300,
};

export type DrainSettings = {
  /** Leases due tasks. With none due it may wait for one, at most waitMs. */
  claim(maxRows: number, leaseSeconds: number, heartbeatMs: number, waitMs: number): Promise<Claimed[]>;
  /** Does one task to its end. Throws only when the end could not be recorded; the lease then brings the task back. */
  work(task: Claimed, signal: AbortSignal): Promise<void>;
  log: Log;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** A signal that aborts after so many milliseconds. */
  timeout(ms: number): AbortSignal;
  limits?: DrainLimits;
};

/**
 * Makes the one drain of a process. Each call is a kick: it starts looking for work, or makes the drain that is looking
 * look once more. The promise never rejects; it resolves when nothing more is due and every task begun has ended.
 */
export function createDrain(settings: DrainSettings): () => Promise<void> {
  const { claim, work, log, now, sleep, timeout, limits = DRAIN_LIMITS } = settings;
  const running = new Set<Promise<void>>();
  let looking: Promise<void> | null = null;
  let kicked = false;

  function start(task: Claimed): void {
    const done = work(task, timeout(limits.taskMs))
      .catch((error) =>
        log.error("task_unrecorded", { task: task.task, ...identify(task), reason: describeError(error) }),
      )
      .finally(() => running.delete(done));
    running.add(done);
  }

  /** Starts what is due; true when something was, or when there is no room to know. */
  async function take(promise: number, wait: number): Promise<boolean> {
    const free = limits.maxTasks - running.size;
    if (free <= 0) return true;
    const tasks = await claim(Math.min(limits.claimAtOnce, free), limits.leaseSeconds, promise, wait);
    tasks.forEach(start);
    return tasks.length > 0;
  }

  async function look(): Promise<void> {
    const end = now() + limits.lookFor;
    let lastFound = now();
    do {
      while (now() < end && now() - lastFound < limits.linger) {
        kicked = false;
        const asked = now();
        if (await take(limits.promise, limits.lookEvery)) lastFound = now();
        else await sleep(Math.max(0, asked + limits.lookEvery - now()));
        if (running.size >= limits.maxTasks) await Promise.race([sleep(limits.lookEvery), ...running]);
      }
      // Whoever relied on the promise has committed by now, and whoever came after it kicks: the last look misses nobody.
      await sleep(limits.promise + limits.lookEvery);
      kicked = false;
      if (await take(0, 0)) lastFound = now();
    } while (now() < end && now() - lastFound < limits.linger);
  }

  return async () => {
    kicked = true;
    // A kick that came too late for the last look begins another.
    while (kicked) {
      looking ??= look()
        .catch((error) => {
          kicked = false;
          log.error("drain_stopped", { reason: describeError(error) });
        })
        .finally(() => {
          looking = null;
        });
      await looking;
    }
    while (running.size > 0) await Promise.allSettled(running);
  };
}
