import { describeError, type Log } from "../../../shared/platform/log.ts";
import type { Claimed } from "./database.ts";
import { identify } from "./tasks/task.ts";

/** Milliseconds, except leaseSeconds and the counts. */
export type WorkerLimits = {
  /** How long one run claims new tasks. With taskMs far below the platform's limit of 150 s. */
  maxRunMs: number;
  taskMs: number;
  /** Longer than a task and the recording of its result may take: work must have stopped when its lease expires. */
  leaseSeconds: number;
  maxTasks: number;
  claimAtOnce: number;
  /** How long the worker keeps claiming after its last work: new tasks then start without a kick. */
  idleGraceMs: number;
  /** The pause between two claims. It is spent in the database, where one worker at a time waits for a task. */
  claimEveryMs: number;
  /** How long the heartbeat of a claim is valid. Postgres sends no kick meanwhile. */
  heartbeatMs: number;
};

export const WORKER_LIMITS: WorkerLimits = {
  maxRunMs: 30_000,
  taskMs: 80_000,
  leaseSeconds: 90,
  maxTasks: 32,
  claimAtOnce: 10,
  idleGraceMs: 2_000,
  claimEveryMs: 100,
  heartbeatMs: 300,
};

export type WorkerSettings = {
  /** Leases due tasks. When none is due it may wait up to waitMs for one. */
  claim(maxRows: number, leaseSeconds: number, heartbeatMs: number, waitMs: number): Promise<Claimed[]>;
  /** Does one task. Throws only when its result could not be recorded: the task is claimed again when its lease expires. */
  work(task: Claimed, signal: AbortSignal): Promise<void>;
  log: Log;
  /** Milliseconds of a monotonic clock. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** A signal that aborts after `ms`. */
  timeout(ms: number): AbortSignal;
  limits?: WorkerLimits;
};

/**
 * Creates the worker of a process. Each call is a kick: it starts a run, or makes the present run claim once more. The returned promise
 * never rejects. It resolves when nothing is due and every started task has ended.
 */
export function createWorker(settings: WorkerSettings): () => Promise<void> {
  const { claim, work, log, now, sleep, timeout, limits = WORKER_LIMITS } = settings;
  const tasks = new Set<Promise<void>>();
  let running: Promise<void> | null = null;
  let kicked = false;

  function start(task: Claimed): void {
    const done = work(task, timeout(limits.taskMs))
      .catch((error) =>
        log.error("task_unrecorded", { task: task.task, ...identify(task), reason: describeError(error) }),
      )
      .finally(() => tasks.delete(done));
    tasks.add(done);
  }

  /** True when it started tasks, or when there is no capacity to claim any. */
  async function claimAndStart(heartbeatMs: number, waitMs: number): Promise<boolean> {
    const free = limits.maxTasks - tasks.size;
    if (free <= 0) return true;
    const claimed = await claim(Math.min(limits.claimAtOnce, free), limits.leaseSeconds, heartbeatMs, waitMs);
    claimed.forEach(start);
    return claimed.length > 0;
  }

  async function run(): Promise<void> {
    const end = now() + limits.maxRunMs;
    let lastWork = now();
    const isClaiming = () => now() < end && now() - lastWork < limits.idleGraceMs;
    do {
      while (isClaiming()) {
        kicked = false;
        const asked = now();
        if (await claimAndStart(limits.heartbeatMs, limits.claimEveryMs)) lastWork = now();
        else await sleep(Math.max(0, asked + limits.claimEveryMs - now()));
        if (tasks.size >= limits.maxTasks) await Promise.race([sleep(limits.claimEveryMs), ...tasks]);
      }
      // Tasks committed under the last heartbeat are visible once it has expired, and later ones kick: the final claim misses none.
      await sleep(limits.heartbeatMs + limits.claimEveryMs);
      kicked = false;
      if (await claimAndStart(0, 0)) lastWork = now();
    } while (isClaiming());
  }

  return async () => {
    kicked = true;
    // A kick after the final claim starts another run.
    while (kicked) {
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
    while (tasks.size > 0) await Promise.allSettled(tasks);
  };
}
