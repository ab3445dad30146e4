import { createLog } from "../../shared/platform/log.ts";
import { createWorker } from "../../supabase/functions/keyframe-deliver/queue/worker.ts";
import { WORKER_LIMITS, type WorkerLimits } from "../../supabase/functions/keyframe-deliver/queue/worker-limits.ts";
import { makeClock } from "./worker-clock.ts";

export type Sent = { id: number; endpoint: string };
export type Call = {
  at: number;
  results: number[];
  maxRows: number;
  heartbeatMs: number;
  leaseSeconds: number;
  wait: number;
  /** Other calls under way when it began. */
  beside: number;
};

/**
 * A drain over a database in memory: a queue for each endpoint, a cap in flight for each, leases by identifier.
 * A call of it takes 5 ms: 3 until its transaction, 2 for the answer. One that may wait sees at once what is added
 * meanwhile. `request` gives how long a request takes; it may also throw.
 */
export function makeWorker(options: {
  queues?: Record<string, number>;
  cap?: number;
  request?: (sent: Sent) => number;
  /** How long a call takes until its transaction: 3 ms unless this says otherwise. */
  callMs?: (call: Call) => number;
  /** Called before each transaction; what it throws, the exchange throws. `lost`: the work was done, the answer got lost. */
  fault?: (call: Call, count: number) => "lost" | undefined;
  limits?: Partial<WorkerLimits>;
  /** Somebody else waits in the database already: calls never wait. */
  isTaken?: boolean;
}) {
  const time = makeClock();
  const { cap = 8, request = () => 10, limits } = options;
  const queues = new Map<string, Sent[]>();
  const leased = new Map<number, Sent>();
  const recorded = new Map<number, number>();
  const startedAt = new Map<number, number>();
  const calls: Call[] = [];
  const lines: string[] = [];
  let made = 0;
  let underWay = 0;
  let mostUnderWay = 0;
  let calling = 0;
  let wake = () => {};

  /** Resolves when something is added, or after so many milliseconds. */
  function untilAdded(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = time.clock.after(ms, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
  }

  function add(endpoint: string, count: number): void {
    const queue = queues.get(endpoint) ?? [];
    for (let i = 0; i < count; i++) queue.push({ id: ++made, endpoint });
    queues.set(endpoint, queue);
    wake();
  }
  for (const [endpoint, count] of Object.entries(options.queues ?? {})) add(endpoint, count);

  function exchange(results: number[], maxRows: number): Sent[] {
    for (const id of results) {
      // Only the holder of a lease is believed.
      if (leased.delete(id)) recorded.set(id, time.now());
    }
    const taken: Sent[] = [];
    for (const [endpoint, queue] of queues) {
      const held = [...leased.values()].filter((sent) => sent.endpoint === endpoint).length;
      taken.push(...queue.splice(0, Math.min(cap - held, maxRows - taken.length)));
      for (const sent of taken) leased.set(sent.id, sent);
    }
    return taken;
  }

  async function answer(call: Call, count: number): Promise<Sent[]> {
    await time.sleep(options.callMs?.(call) ?? 3);
    const isEmpty = [...queues.values()].every((queue) => queue.length === 0);
    if (call.wait > 0 && isEmpty && !options.isTaken) await untilAdded(call.wait);
    const fault = options.fault?.(call, count);
    const taken = exchange(call.results, call.maxRows);
    await time.sleep(2);
    if (fault === "lost") throw new Error("no answer from https://db.test/?key=secret");
    return taken;
  }

  const kick = createWorker<Sent, number>({
    async exchange(results, maxRows, leaseSeconds, heartbeatMs, wait) {
      const call = { at: time.now(), results: [...results], maxRows, heartbeatMs, leaseSeconds, wait, beside: calling };
      calling += 1;
      try {
        return await answer(call, calls.push(call));
      } finally {
        calling -= 1;
      }
    },
    async attempt(sent) {
      startedAt.set(sent.id, time.now());
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      try {
        await time.sleep(request(sent));
        return sent.id;
      } finally {
        underWay -= 1;
      }
    },
    log: createLog({}, (line) => void lines.push(line)),
    clock: time.clock,
    limits: { ...WORKER_LIMITS, ...limits },
  });

  return { ...time, kick, add, calls, lines, recorded, leased, startedAt, mostUnderWay: () => mostUnderWay };
}
