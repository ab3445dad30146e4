import { describe, expect, test } from "vitest";
import { createLog } from "../../../shared/platform/log.ts";
import { createAlarm } from "../../../shared/platform/clock.ts";
import { COMMON_LIMITS as L, type WorkerLimits } from "../../../shared/worker/limits.ts";
import { type ClaimRequest, createWorker } from "../../../shared/worker/worker.ts";
import { TIMEOUT_MS } from "../../../shared/platform/call-database.ts";
import {
  DATABASE_TIMEOUT_MS,
  DELIVER_LIMITS,
} from "../../../supabase/functions/keyframe-deliver/deliveries/delivery-work.ts";
import { GENERATE_LIMITS } from "../../../supabase/functions/keyframe-generate/tasks/run-task.ts";
import { makeClock } from "../../support/worker-clock.ts";

const REQUEST_MS = 15_000;
const LIMITS: WorkerLimits = { ...L, maxOpen: 100, workMs: 80_000 };

/** One call of the database. With nothing free it only records. */
type Call = Omit<ClaimRequest, "free"> & { at: number; free: number | null; results: number[] };

/**
 * A worker over a queue in memory. A call takes 5 ms, or callMs, of which 2 for the answer. One that may wait sees at once what is
 * added meanwhile.
 */
function makeQueue(options: {
  due?: number;
  /** What one piece of work takes; it may throw. Infinity: it hangs and ignores its signal. */
  work?: (id: number, signal: AbortSignal) => number;
  /** Whether results are recorded in batches. */
  hasResults?: boolean;
  /** Called in each transaction. What it throws, the call throws. */
  fault?: (call: Call) => void;
  claimAtOnce?: number;
  callMs?: number;
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

  async function transact(request: Omit<Call, "at" | "results">): Promise<number[]> {
    const { free, isStopping, waitMs } = request;
    const call = { ...request, at: time.now(), results: [...results] };
    calls.push(call);
    calling += 1;
    mostCalling = Math.max(mostCalling, calling);
    try {
      await time.sleep((options.callMs ?? 5) - 2);
      if (waitMs > 0 && due.length === 0 && !options.isTaken) await untilAdded(waitMs);
      options.fault?.(call);
      for (const id of call.results) recorded.set(id, recorded.get(id) ?? time.now());
      const taken = due.splice(0, Math.min(isStopping ? 0 : (free ?? 0), options.claimAtOnce ?? 10));
      await time.sleep(2);
      results.splice(0, call.results.length);
      return taken;
    } finally {
      calling -= 1;
    }
  }

  const worker = createWorker<number>({
    claim: async (request) => {
      const items = await transact(request);
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
        ready: () => results.length,
        pending: () => results.length,
        record: async (callMs) =>
          void (await transact({ free: null, isStopping: false, heartbeatMs: 0, waitMs: 0, callMs })),
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
    ...worker,
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

/** A kick, and all that comes of it. */
async function runQueue(
  options: Parameters<typeof makeQueue>[0],
  plan?: (queue: ReturnType<typeof makeQueue>) => unknown,
) {
  const queue = makeQueue(options);
  plan?.(queue);
  await queue.runUntil(queue.kick());
  return queue;
}

test("the worker's limits → a heartbeat outlasts two claims, and a function is never quiet", () => {
  for (const { claimEveryMs, heartbeatMs } of [L, L.quiet]) expect(2 * claimEveryMs).toBeLessThan(heartbeatMs);
  expect(L.quietAfterMs).toBeGreaterThan(L.maxRunMs);
});

describe("a kick while idle", () => {
  test.each([
    ["each waits 100 ms in the database", false],
    ["another worker waits in the database → one every 100 ms", true],
  ])(
    "an idle worker, nothing due → claims for 2 s, %s, with a heartbeat; two last claims end it, 100 ms apart",
    async (_, isTaken) => {
      const { kick, calls, runUntil } = makeQueue({ isTaken });
      await runUntil(kick());
      const [claims, [ending, last]] = [calls.slice(0, -2), calls.slice(-2)];
      expect(claims.length).toBeGreaterThanOrEqual(18);
      expect(claims.length).toBeLessThanOrEqual(21);
      const isAlive = ({ heartbeatMs, waitMs }: Call) => heartbeatMs === L.heartbeatMs && waitMs === L.claimEveryMs;
      expect(claims.every(isAlive)).toBe(true);
      expect([ending, last]).toMatchObject(Array(2).fill({ heartbeatMs: 0, waitMs: 0 }));
      expect((last?.at ?? 0) - (ending?.at ?? 0)).toBeGreaterThanOrEqual(L.claimEveryMs);
    },
  );

  test("work is committed during a worker's idle grace → starts at once, without a kick, and the grace begins again", async () => {
    const queue = await runQueue({}, ({ clock, add }) => clock.after(1_050, () => add(1)));
    expect(queue.startedAt.get(1)).toBeLessThanOrEqual(1_060);
    expect(queue.calls.at(-1)?.at).toBeGreaterThan(1_050 + L.idleGraceMs);
  });

  test("work is committed without a kick while the heartbeat ends → the last claim finds it, and claiming goes on", async () => {
    const queue = await runQueue({}, ({ clock, add }) => clock.after(L.idleGraceMs + 150, () => add(1)));
    expect(queue.startedAt.size).toBe(1);
    expect(queue.calls.at(-1)?.at).toBeGreaterThan(2 * L.idleGraceMs);
  });
});

test("calls that wait in the database until work is due → the reported time of a call leaves out its wait", async () => {
  const { calls } = await runQueue({}, ({ clock, add }) => clock.after(1_050, () => add(1)));
  expect(calls.filter(({ waitMs }) => waitMs === L.claimEveryMs).length).toBeGreaterThan(10);
  expect(Math.max(...calls.map(({ callMs }) => callMs))).toBe(5);
});

describe("a kick while running", () => {
  test("two kicks at once → one run of the worker", async () => {
    const { kick, calls, runUntil, mostCalling } = makeQueue({});
    await runUntil(Promise.all([kick(), kick()]));
    expect(mostCalling()).toBe(1);
    expect(calls.filter(({ heartbeatMs }) => heartbeatMs === 0)).toHaveLength(2);
  });

  test.each<[string, number, Parameters<typeof makeQueue>[0]]>([
    ["during a pause", 1_030, { isTaken: true }],
    ["after the heartbeat has ended", L.idleGraceMs + 150, {}],
    ["after the maximum run time", L.maxRunMs + 50, { due: 1, work: (id) => (id === 1 ? 60_000 : 10) }],
    ["while the last work ends", 40_000, { due: 1, work: (id) => (id === 1 ? 60_000 : 10) }],
  ])("a kick %s → a claim at once", async (_when, at, options) => {
    const queue = makeQueue(options);
    queue.clock.after(at, () => {
      queue.add(1);
      void queue.kick();
    });
    await queue.runUntil(queue.kick());
    expect(queue.startedAt.get((options.due ?? 0) + 1)).toBe(at + 5);
  });

  test("a kick for work committed just after the last claim → another claim follows, without waiting for the sweep", async () => {
    let ends = 0;
    const queue = makeQueue({
      fault: ({ heartbeatMs }) => {
        if (heartbeatMs > 0 || ++ends !== 2) return;
        queue.clock.after(1, () => {
          queue.add(1);
          void queue.kick();
        });
      },
    });
    await queue.runUntil(queue.kick());
    expect(queue.startedAt.size).toBe(1);
  });
});

describe("much work", () => {
  test("more work than a worker's capacity → never more than maxOpen at once, one call at a time, and all is done", async () => {
    const queue = await runQueue({ due: 120, limits: { maxOpen: 25 }, work: (id) => 5 + (id % 50) });
    expect(queue.mostOpen()).toBe(25);
    expect(queue.mostCalling()).toBe(1);
    expect(queue.startedAt.size).toBe(120);
  });

  test("a run's last work ends after the maximum run time → the run ends with it", async () => {
    const queue = await runQueue({ due: 1, limits: { maxRunMs: 1_000 }, work: () => 8_000 });
    expect(queue.now()).toBe(8_005);
  });

  test.each([
    ["generate", GENERATE_LIMITS, TIMEOUT_MS],
    ["deliver", DELIVER_LIMITS, DATABASE_TIMEOUT_MS],
  ])(
    "%s with endless work that hangs, and the slowest calls → leases nothing after maxRunMs, and ends before 130 s",
    async (_, limits, timeoutMs) => {
      const work = () => Number.POSITIVE_INFINITY;
      const queue = makeQueue({ limits, callMs: timeoutMs - 1, work, fault: () => queue.add(8) });
      await queue.runUntil(queue.kick());
      const leases = queue.calls.filter(({ isStopping }) => !isStopping);
      expect(leases.at(-1)?.at).toBeLessThan(L.maxRunMs);
      expect(queue.now()).toBeLessThan(130_000); // the platform ends a function after 150 s
    },
  );

  test("endless work → no heartbeat after the maximum run time; open work ends", async () => {
    const queue = makeQueue({ hasResults: true, fault: () => queue.add(8), work: () => 50 });
    await queue.runUntil(queue.kick());
    const claims = queue.calls.filter(({ free }) => free !== null);
    expect(claims.at(-1)).toMatchObject({ heartbeatMs: 0 });
    expect(claims.at(-1)?.at).toBeLessThan(L.maxRunMs + L.heartbeatMs + 3 * L.claimEveryMs);
    expect(queue.recorded.size).toBe(queue.startedAt.size);
  });
});

describe("results", () => {
  test("a hundred quick results → each is recorded once, in batches, with one call open at a time", async () => {
    const queue = await runQueue({ due: 100, hasResults: true, claimAtOnce: 100, work: (id) => 3 + (id % 17) });
    expect(queue.recorded.size).toBe(100);
    expect(queue.mostCalling()).toBe(1);
    expect(queue.calls.filter(({ results }) => results.length > 0).length).toBeLessThanOrEqual(5);
  });

  test("a result is recorded and nothing is due → the next call waits in the database at once, so new work starts immediately", async () => {
    const queue = await runQueue({ due: 1, hasResults: true }, ({ clock, add }) => clock.after(60, () => add(1)));
    expect(queue.startedAt.get(2)).toBeLessThanOrEqual(70);
  });

  test("one result while other work is slow → recorded when the call that waits in the database returns", async () => {
    const queue = await runQueue(
      { due: 1, hasResults: true, work: (id) => (id === 1 ? REQUEST_MS : 10) },
      ({ clock, add }) => clock.after(1_000, () => add(1)),
    );
    expect(queue.recorded.get(2)).toBeLessThan(1_000 + 10 + L.claimEveryMs + L.recordAfterMs + 20);
  });
});

describe("work that fails", () => {
  test("work that throws → logged with its name, and the others go on", async () => {
    const queue = makeQueue({
      due: 3,
      work: (id) => {
        if (id === 2) throw new Error("the database is away");
        return 10;
      },
    });
    await queue.runUntil(queue.kick());
    expect(queue.startedAt.size).toBe(3);
    expect(queue.lines.map((line) => JSON.parse(line))).toMatchObject([
      { event: "work_failed", id: "2", level: "error" },
    ]);
  });

  test("work that hangs → its signal aborts after workMs; after a grace its slot is free and the run ends", async () => {
    const queue = await runQueue({
      due: 2,
      limits: { workMs: 20_000, maxOpen: 1 },
      work: (id) => (id === 1 ? Number.POSITIVE_INFINITY : 10),
    });
    expect(queue.aborted).toEqual([20_005]);
    expect(queue.startedAt.get(2)).toBeGreaterThanOrEqual(25_005);
    expect(queue.events()).toEqual(["work_hangs"]);
  });

  test("work that ends in time, or when its signal aborts → nothing is logged, however long the run lasts", async () => {
    const limits = { workMs: 500, abortGraceMs: 500 };
    const queue = await runQueue({ due: 2, limits, work: (id) => (id === 1 ? 10 : 600) });
    expect(queue.now()).toBeGreaterThan(1_000);
    expect([queue.aborted, queue.events()]).toEqual([[505], []]);
  });
});

describe("the database is away", () => {
  const away = () => {
    throw new Error("no connection to https://db.test/?key=secret");
  };

  test("the database is down with nothing open → logged without the address, the run ends, and the next kick begins again", async () => {
    let isAway = true;
    const fault = () => {
      if (!isAway) return;
      void queue.kick(); // one that comes during the call that fails
      away();
    };
    const queue = makeQueue({ due: 1, fault });
    await queue.runUntil(queue.kick());
    expect(queue.calls).toHaveLength(1);
    expect(queue.events()).toEqual(["call_failed", "worker_stopped"]);
    expect(queue.lines.join()).not.toContain("secret");
    isAway = false;
    await queue.runUntil(queue.kick());
    expect(queue.startedAt.size).toBe(1);
  });

  test("the database is down while work is open → calls with growing pauses, and the results are recorded later", async () => {
    const queue = await runQueue({
      due: 100,
      claimAtOnce: 100,
      hasResults: true,
      work: (id) => id * 20,
      fault: ({ at }) => void (at > 0 && at < 8_000 && away()),
    });
    expect(queue.recorded.size).toBe(100);
    expect(queue.calls.filter(({ at }) => at < 8_000).length).toBeLessThan(12);
  });

  test("the database is down for a run's last result → tried again until it is recorded", async () => {
    const fault = ({ at }: Call) => void (at > 400 && at < 3_000 && away());
    const queue = await runQueue({ due: 1, hasResults: true, limits: { maxRunMs: 300 }, work: () => 500, fault });
    expect(queue.recorded.size).toBe(1);
  });

  test("the database stays down → the run gives up after 20 s; the next run records what is left", async () => {
    let isAway = true;
    const queue = await runQueue({ due: 8, hasResults: true, fault: ({ at }) => void (isAway && at > 0 && away()) });
    expect(queue.now()).toBeGreaterThan(L.giveUpAfterMs);
    expect(queue.now()).toBeLessThan(2 * L.giveUpAfterMs);
    expect(queue.recorded.size).toBe(0);
    isAway = false;
    await queue.runUntil(queue.kick());
    expect(queue.recorded.size).toBe(8);
  });
});

describe("a process that stays", () => {
  const MINUTE = 60_000;

  /** Stays for so long, then is asked to stop, and runs until it has ended. */
  async function stayFor(ms: number, options: Parameters<typeof makeQueue>[0], plan?: (queue: Queue) => void) {
    const queue = makeQueue(options);
    const stop = new AbortController();
    queue.clock.after(ms, () => stop.abort());
    plan?.(queue);
    await queue.runUntil(queue.stay(stop.signal));
    const later = queue.calls.filter(({ at }) => at >= ms);
    return { queue, later };
  }
  type Queue = ReturnType<typeof makeQueue>;

  test.each([
    ["each waits in the database", false],
    ["another worker waits there", true],
  ])(
    "a process, nothing due, %s → a claim each 100 ms for a minute, then each 500 ms, with a longer heartbeat",
    async (_, isTaken) => {
      const { queue } = await stayFor(3 * MINUTE, { isTaken });
      const paceAt = (from: number) => {
        const claims = queue.calls.filter(({ at }) => at >= from && at < from + 10_000);
        const pace = { heartbeatMs: L.heartbeatMs, waitMs: L.claimEveryMs };
        const slow = { heartbeatMs: L.quiet.heartbeatMs, waitMs: L.quiet.claimEveryMs };
        return [
          claims.length,
          claims.every(
            (each) =>
              each.heartbeatMs === (from < MINUTE ? pace : slow).heartbeatMs &&
              each.waitMs === (from < MINUTE ? pace : slow).waitMs,
          ),
        ];
      };
      expect(paceAt(1_000)).toEqual([expect.closeTo(97, -1), true]);
      expect(paceAt(2 * MINUTE)).toEqual([expect.closeTo(20, -0.5), true]);
    },
  );

  test("a quiet process, and work is committed → starts at once, then a minute of claims each 100 ms", async () => {
    const { queue } = await stayFor(
      3 * MINUTE,
      {},
      ({ clock, add }) => void clock.after(2 * MINUTE + 500, () => add(1)),
    );
    expect(queue.startedAt.get(1)).toBeLessThanOrEqual(2 * MINUTE + 510);
    expect(queue.calls.filter(({ at }) => at > 2 * MINUTE + 1_000 && at < 2 * MINUTE + 11_000).length).toBeGreaterThan(
      90,
    );
  });

  test("a process is stopped while work is open and more is due → takes no more, records what is open, and ends", async () => {
    const options = { hasResults: true, due: 2, work: () => 5_000, isTaken: true };
    const { queue, later } = await stayFor(1_050, options, ({ clock, add }) => void clock.after(1_050, () => add(3)));
    expect([...queue.startedAt.keys()]).toEqual([1, 2]);
    expect(later.filter(({ free }) => free !== null)).toMatchObject([
      { isStopping: true, heartbeatMs: 0 },
      { isStopping: true, heartbeatMs: 0 },
    ]);
    expect([...queue.recorded.keys()]).toEqual([1, 2]);
    expect(queue.now()).toBeGreaterThanOrEqual(5_000);
    expect(queue.now()).toBeLessThan(5_000 + L.endingEveryMs);
  });

  test("a quiet process is stopped → ends at once, or when the claim that waits in the database returns", async () => {
    const at = 2 * MINUTE + 300;
    for (const isTaken of [true, false]) {
      const { queue, later } = await stayFor(at, { isTaken });
      expect(later).toMatchObject([{ heartbeatMs: 0 }, { heartbeatMs: 0 }]);
      expect(later[0]?.at).toBeLessThanOrEqual(isTaken ? at : at + L.quiet.claimEveryMs);
      expect(queue.now()).toBeLessThan((later[0]?.at ?? 0) + 2 * L.claimEveryMs);
    }
  });

  test("the database is down for an hour → a process calls every two seconds; due work starts when it is back", async () => {
    const fault = ({ at }: Call) => {
      if (at < 60 * MINUTE) throw new Error("away");
    };
    const { queue } = await stayFor(61 * MINUTE, { due: 1, fault });
    expect(queue.calls.filter(({ at }) => at < 60 * MINUTE).length).toBeLessThan(60 * 31);
    expect(queue.startedAt.get(1)).toBeLessThan(60 * MINUTE + L.maxDelayMs + 10);
    expect(queue.events()).not.toContain("worker_stopped");
  });

  test("the database is down when an idle process is stopped → the process ends at the next call", async () => {
    const { queue } = await stayFor(10_000, {
      fault: () => {
        throw new Error("away");
      },
    });
    expect(queue.now()).toBeLessThan(10_000 + 2 * L.maxDelayMs);
    expect(queue.answeredMsAgo()).toBe(Number.POSITIVE_INFINITY);
  });
});

test("a pause whose end has already passed → a timer of 0, never a negative one, which the runtime would warn of", async () => {
  const asked: number[] = [];
  const after = (ms: number, call: () => void) => {
    asked.push(ms);
    call();
    return () => undefined;
  };
  await createAlarm({ now: () => 0, after }).sleep(-0.3);
  expect(asked).toEqual([0]);
});
