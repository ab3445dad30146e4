import { expect, test } from "vitest";
import { createLog } from "../../shared/platform/log.ts";
import type { Claimed } from "../../supabase/functions/keyframe-generate/database.ts";
import { createWorker, WORKER_LIMITS, type WorkerLimits } from "../../supabase/functions/keyframe-generate/worker.ts";

const L = WORKER_LIMITS;
type Claim = { at: number; maxRows: number; leaseSeconds: number; heartbeatMs: number; wait: number };

/** A drain whose clock moves only when it sleeps. `due` gives what is due at a time, at most `max` of it. */
function makeWorker(options: {
  due?: (now: number, max: number) => number | Promise<number>;
  work?: (task: Claimed, signal: AbortSignal) => Promise<void>;
  limits?: Partial<WorkerLimits>;
  /** Whether the database lets it wait there. */
  isLetWait?: boolean;
}) {
  let time = 0;
  let made = 0;
  const claims: Claim[] = [];
  const lines: string[] = [];
  const started: number[] = [];
  const kick = createWorker({
    claim: async (maxRows, leaseSeconds, heartbeatMs, wait) => {
      claims.push({ at: time, maxRows, leaseSeconds, heartbeatMs, wait });
      const count = (await options.due?.(time, maxRows)) ?? 0;
      if (count === 0 && options.isLetWait) time += wait;
      return Array.from({ length: count }, () => ({ task: "submit", id: `task-${++made}` }));
    },
    work: async (task, signal) => {
      started.push(time);
      await options.work?.(task, signal);
    },
    log: createLog({}, (line) => void lines.push(line)),
    now: () => time,
    sleep: async (ms) => {
      time += ms;
    },
    timeout: () => new AbortController().signal,
    limits: { ...L, ...options.limits },
  });
  return { kick, claims, lines, started, now: () => time };
}

test("the limits → tasks end before their leases, and a drain well before the platform's 150 s", () => {
  expect(L.taskMs).toBeLessThan(L.leaseSeconds * 1000);
  expect(L.maxRunMs + L.idleGraceMs + L.heartbeatMs + L.claimEveryMs + L.taskMs).toBeLessThan(120_000);
  // A heartbeatMs is made at the end of a call and has to hold until the end of the next, which may wait.
  expect(2 * L.claimEveryMs).toBeLessThan(L.heartbeatMs);
});

test.each([
  ["the database waits itself, 100 ms each time", true],
  ["another worker waits in the database → it claims every 100 ms", false],
])("nothing due, %s, for 2 s, each claim with a heartbeat, and the last claim ends it", async (_, isLetWait) => {
  const { kick, claims } = makeWorker({ isLetWait });
  await kick();
  const looks = claims.slice(0, -1);
  expect(looks.map(({ at }) => at)).toEqual(Array.from({ length: 20 }, (_, index) => index * 100));
  expect(
    looks.every(
      ({ wait, heartbeatMs, leaseSeconds }) => wait === 100 && heartbeatMs === 300 && leaseSeconds === L.leaseSeconds,
    ),
  ).toBe(true);
  const [last, lastPromise] = [claims.at(-1), looks.at(-1)];
  expect(last).toMatchObject({ heartbeatMs: 0, wait: 0 });
  // Only after the last heartbeatMs has run out: whoever relied on it is seen.
  expect(last?.at).toBeGreaterThan((lastPromise?.at ?? 0) + 300);
});

test("work is due → the next claim follows at once, and the idle grace begins again", async () => {
  let foundAt: number | undefined;
  const { kick, claims } = makeWorker({
    due: (now) => {
      if (now < 1500 || foundAt !== undefined) return 0;
      foundAt = now;
      return 3;
    },
  });
  await kick();
  const after = claims.filter(({ at }) => at >= (foundAt ?? Number.NaN));
  expect(after.slice(0, 3).map(({ at }) => at - (foundAt ?? Number.NaN))).toEqual([0, 0, 100]);
  expect(claims.at(-1)?.at).toBeGreaterThanOrEqual(3500);
});

test("work comes with the final claim → it is done, and claiming goes on", async () => {
  let given = false;
  const { kick, claims, started } = makeWorker({
    due: () => {
      if (given || claims.at(-1)?.heartbeatMs !== 0) return 0;
      given = true;
      return 1;
    },
  });
  await kick();
  expect(started).toHaveLength(1);
  expect(claims.filter(({ heartbeatMs }) => heartbeatMs === 0)).toHaveLength(2);
});

test("slow tasks → quick ones behind them are begun meanwhile", async () => {
  const slow = Promise.withResolvers<void>();
  let left = 5;
  const { kick, started, now } = makeWorker({
    due: () => (left-- > 0 ? 1 : 0),
    work: (task) => (task.id === "task-1" ? slow.promise : Promise.resolve()),
  });
  let ended = false;
  const drained = kick().then(() => {
    ended = true;
  });
  for (let turns = 0; turns < 10_000 && now() < 2300; turns++) await Promise.resolve();
  expect(now()).toBeGreaterThanOrEqual(2300);
  expect(started).toEqual([0, 0, 0, 0, 0]);
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(ended).toBe(false);
  slow.resolve();
  await drained;
});

test("more is due than there is room for → never more than maxTasks at once, and a finished one makes room", async () => {
  const waiting: (() => void)[] = [];
  let running = 0;
  let most = 0;
  let left = 12;
  const { kick, claims } = makeWorker({
    limits: { maxTasks: 4, claimAtOnce: 3 },
    due: (_now, max) => {
      const count = Math.min(left, max);
      left -= count;
      return count;
    },
    work: async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (running === 4 || left === 0) queueMicrotask(() => waiting.splice(0).forEach((go) => void go()));
      });
      running -= 1;
    },
  });
  await kick();
  expect(left).toBe(0);
  expect(most).toBe(4);
  expect(Math.max(...claims.map(({ maxRows }) => maxRows))).toBe(3);
});

test("two kicks at once → one drain", async () => {
  const { kick, claims } = makeWorker({});
  await Promise.all([kick(), kick()]);
  expect(claims.filter(({ heartbeatMs }) => heartbeatMs === 0)).toHaveLength(1);
});

test("a kick during the final claim → another claim follows, so that its work is not left for the sweep", async () => {
  let kicks = 0;
  let seen = false;
  const drain = makeWorker({
    due: async () => {
      const isLast = drain.claims.at(-1)?.heartbeatMs === 0;
      if (isLast && kicks === 0) {
        kicks += 1;
        void drain.kick(); // its row was committed just after this claim
        return 0;
      }
      if (kicks === 1 && !seen) {
        seen = true;
        return 1;
      }
      return 0;
    },
  });
  await drain.kick();
  expect(drain.started).toHaveLength(1);
});

test("work without end → the worker claims no more after its maximum run time, and the final claim ends the heartbeat", async () => {
  const { kick, claims } = makeWorker({
    due: (now, max) => (claims.filter(({ at }) => at === now).length > 1 ? 0 : max),
  });
  await kick();
  expect(claims.at(-1)?.heartbeatMs).toBe(0);
  expect(claims.at(-1)?.at).toBeLessThanOrEqual(L.maxRunMs + L.heartbeatMs + 2 * L.claimEveryMs);
});

test("the database is away → logged, the drain ends, and the next kick begins anew", async () => {
  let away = true;
  const { kick, lines, started, claims } = makeWorker({
    due: () => {
      if (away) throw new Error("no connection to https://db.test/?key=secret");
      return claims.length === 2 ? 1 : 0;
    },
  });
  await kick();
  expect(claims).toHaveLength(1);
  expect(lines.join()).toContain("worker_stopped");
  expect(lines.join()).not.toContain("secret");
  away = false;
  await kick();
  expect(started).toHaveLength(1);
});

test("a task whose end could not be recorded → logged with its prediction, the others go on", async () => {
  let left = 1;
  const { kick, lines, started } = makeWorker({
    due: () => (left-- > 0 ? 3 : 0),
    work: async (task) => {
      if (task.id === "task-2") throw new Error("the database is away");
    },
  });
  await kick();
  expect(started).toHaveLength(3);
  const [line] = lines.map((one) => JSON.parse(one));
  expect(line).toMatchObject({ event: "task_unrecorded", predictionId: "task-2", level: "error" });
});
