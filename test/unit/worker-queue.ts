import { createLog } from "../../shared/platform/log.ts";
import { createWorker } from "../../shared/worker/worker.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../shared/worker/worker-limits.ts";
import { makeClock } from "./worker-clock.ts";

export const LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 100, workMs: 80_000 };

/** One call of the database. `room` null: it only records. */
export type Call = { at: number; room: number | null; heartbeatMs: number; waitMs: number; results: number[] };

/**
 * A worker over a queue in memory. A call takes 5 ms: 3 until its transaction, 2 for the answer. One that may wait sees at once what is
 * added meanwhile.
 */
export function makeQueue(options: {
  due?: number;
  /** What one piece of work takes; it may throw. Infinity: it hangs and ignores its signal. */
  work?: (id: number, signal: AbortSignal) => number;
  /** Whether results are recorded in batches. */
  hasResults?: boolean;
  /** Called in each transaction. What it throws, the call throws; "lost": the work was done, the answer got lost. */
  fault?: (call: Call, count: number) => "lost" | undefined;
  claimAtOnce?: number;
  limits?: Partial<WorkerLimits>;
  /** Another worker waits in the database already: calls never wait. */
  isTaken?: boolean;
}) {
  const time = makeClock();
  const due: number[] = [];
  const calls: Call[] = [];
  const lines: string[] = [];
  const results: number[] = [];
  const recorded = new Map<number, number>();
  const startedAt = new Map<number, number>();
  const aborted: number[] = [];
  let made = 0;
  let open = 0;
  let mostOpen = 0;
  let calling = 0;
  let mostCalling = 0;
  let wake = () => {};

  function add(count: number): void {
    for (let i = 0; i < count; i++) due.push(++made);
    wake();
  }
  add(options.due ?? 0);

  const untilAdded = (ms: number) =>
    new Promise<void>((resolve) => {
      const cancel = time.clock.after(ms, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });

  async function transact(
    room: number | null,
    heartbeatMs: number,
    waitMs: number,
    take: () => number,
  ): Promise<number[]> {
    const call = { at: time.now(), room, heartbeatMs, waitMs, results: [...results] };
    const count = calls.push(call);
    calling += 1;
    mostCalling = Math.max(mostCalling, calling);
    try {
      await time.sleep(3);
      if (waitMs > 0 && due.length === 0 && !options.isTaken) await untilAdded(waitMs);
      const fault = options.fault?.(call, count);
      for (const id of call.results) recorded.set(id, recorded.get(id) ?? time.now());
      const taken = due.splice(0, Math.min(take(), options.claimAtOnce ?? 10));
      await time.sleep(2);
      if (fault === "lost") throw new Error("no answer from https://db.test/?key=secret");
      results.splice(0, call.results.length);
      return taken;
    } finally {
      calling -= 1;
    }
  }

  const kick = createWorker<number>({
    claim: async (room, heartbeatMs, waitMs) => {
      const items = await transact(room(), heartbeatMs, waitMs, room);
      return { items, more: options.hasResults ? items.length === (options.claimAtOnce ?? 10) : items.length > 0 };
    },
    work: async (id, signal) => {
      startedAt.set(id, time.now());
      signal.addEventListener("abort", () => aborted.push(time.now()));
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      try {
        const ms = options.work?.(id, signal) ?? 10;
        await (ms === Number.POSITIVE_INFINITY ? new Promise(() => {}) : time.sleep(ms));
        if (options.hasResults) results.push(id);
      } finally {
        open -= 1;
      }
    },
    identify: (id) => ({ id: String(id) }),
    ...(options.hasResults && {
      results: {
        count: () => results.length,
        record: async () => void (await transact(null, 0, 0, () => 0)),
        next: () => [],
      },
    }),
    log: createLog({}, (line) => void lines.push(line)),
    clock: time.clock,
    limits: { ...LIMITS, ...options.limits },
  });

  const events = () => lines.map((line) => JSON.parse(line).event);
  return {
    ...time,
    kick,
    add,
    calls,
    lines,
    events,
    recorded,
    startedAt,
    aborted,
    mostOpen: () => mostOpen,
    mostCalling: () => mostCalling,
  };
}
