import { describe, expect, test } from "vitest";
import { WORKER_LIMITS } from "../../supabase/functions/keyframe-deliver/queue/worker-limits.ts";
import { makeWorker } from "./deliver-exchange.ts";

const L = WORKER_LIMITS;
const REQUEST_MS = 15_000;
const endpoints = (count: number, deliveries: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`endpoint ${index}`, deliveries]));

test("the limits → requests end before their leases, and a run well before the platform's 150 s", () => {
  expect(REQUEST_MS).toBeLessThan((L.leaseSeconds * 1000) / 1.5);
  expect(L.maxRunMs + L.idleGraceMs + L.heartbeatMs + L.claimEveryMs + REQUEST_MS + L.giveUpAfterMs).toBeLessThan(
    100_000,
  );
  expect(L.claimEveryMs).toBeLessThan(L.heartbeatMs);
});

describe("looking", () => {
  test("nothing due → a claim every 100 ms for 2 s, each with a heartbeat; the last claim ends it", async () => {
    const { kick, calls, runUntil } = makeWorker({});
    await runUntil(kick());
    const looks = calls.slice(0, -1);
    expect(looks.length).toBeGreaterThanOrEqual(18);
    expect(looks.every(({ heartbeatMs, leaseSeconds }) => heartbeatMs === 300 && leaseSeconds === L.leaseSeconds)).toBe(
      true,
    );
    const gaps = looks.slice(1).map(({ at }, index) => at - (looks[index]?.at ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(L.heartbeatMs);
    expect(calls.at(-1)).toMatchObject({ heartbeatMs: 0, maxRows: expect.any(Number) });
    // Only after the last heartbeat has expired, so that it finds what relied on it.
    expect(calls.at(-1)?.at).toBeGreaterThan((looks.at(-1)?.at ?? 0) + 300);
  });

  test("something is committed during the idle grace → the call that waits for it brings it at once, without a kick", async () => {
    const drain = makeWorker({});
    drain.clock.after(1_050, () => drain.add("late", 1));
    await drain.runUntil(drain.kick());
    expect(drain.startedAt.get(1)).toBeLessThanOrEqual(1_060);
    expect(drain.recorded.size).toBe(1);
    // And the idle grace began again.
    expect(drain.calls.at(-1)?.at).toBeGreaterThan(1_050 + L.idleGraceMs);
  });

  test("something is committed while another process waits in the database → sent at the next look", async () => {
    const drain = makeWorker({ isTaken: true });
    drain.clock.after(1_050, () => drain.add("late", 1));
    await drain.runUntil(drain.kick());
    expect(drain.startedAt.get(1)).toBeLessThanOrEqual(1_050 + L.claimEveryMs + 10);
    expect(drain.calls.length).toBeLessThan(60);
  });

  test("a look → waits in the database for as long as a pause, but not the first, nor the last, nor with requests under way", async () => {
    const drain = makeWorker({
      queues: { slow: 1 },
      request: ({ endpoint }) => (endpoint === "slow" ? 1_500 : 10),
    });
    await drain.runUntil(drain.kick());
    const [first, ...others] = drain.calls;
    expect(first).toMatchObject({ wait: 0 });
    expect(others.filter(({ at, wait }) => at < 1_500 && wait > 0)).toEqual([]);
    expect(others.filter(({ wait }) => wait === L.claimEveryMs).length).toBeGreaterThan(3);
    expect(
      drain.calls.filter(({ results, heartbeatMs, wait }) => wait > 0 && (results.length > 0 || heartbeatMs === 0)),
    ).toEqual([]);
  });

  test("something comes with the last look → it is sent and recorded, and looking goes on", async () => {
    const drain = makeWorker({
      fault: ({ heartbeatMs }, count) => {
        if (heartbeatMs === 0 && count < 30) drain.add("late", 1);
        return undefined;
      },
    });
    await drain.runUntil(drain.kick());
    expect(drain.recorded.size).toBe(1);
    expect(drain.calls.filter(({ heartbeatMs, maxRows }) => heartbeatMs === 0 && maxRows > 0)).toHaveLength(2);
  });

  test("a kick during a pause → a look at once", async () => {
    const drain = makeWorker({ isTaken: true });
    drain.clock.after(1_030, () => {
      drain.add("kicked", 1);
      void drain.kick();
    });
    await drain.runUntil(drain.kick());
    expect(drain.calls.some(({ at }) => at === 1_030)).toBe(true);
    expect(drain.startedAt.get(1)).toBe(1_035);
  });

  test("a kick just after the last look's transaction → another look: its delivery is not left for pg_cron", async () => {
    let kicks = 0;
    const drain = makeWorker({
      fault: ({ heartbeatMs }) => {
        if (heartbeatMs === 0 && kicks++ === 0) {
          drain.clock.after(1, () => {
            drain.add("kicked", 1);
            void drain.kick();
          });
        }
        return undefined;
      },
    });
    await drain.runUntil(drain.kick());
    expect(drain.recorded.size).toBe(1);
  });

  test("a kick while only slow requests are left → looking begins at once, not after them", async () => {
    const drain = makeWorker({
      queues: { slow: 1 },
      request: ({ endpoint }) => (endpoint === "slow" ? REQUEST_MS : 10),
    });
    drain.clock.after(10_000, () => {
      drain.add("quick", 1);
      void drain.kick();
    });
    await drain.runUntil(drain.kick());
    expect(drain.startedAt.get(2)).toBe(10_005);
    expect(drain.recorded.get(2)).toBeLessThan(10_100);
    expect(drain.recorded.has(1)).toBe(true);
  });

  test("two kicks at once → one drain", async () => {
    const { kick, calls, runUntil } = makeWorker({});
    await runUntil(Promise.all([kick(), kick()]));
    expect(calls.filter(({ heartbeatMs }) => heartbeatMs === 0)).toHaveLength(1);
  });

  test("work without end → no more is taken on after 30 s, and what is under way is recorded", async () => {
    const drain = makeWorker({
      fault: () => void drain.add("busy", 8) as undefined,
      request: () => 50,
    });
    await drain.runUntil(drain.kick());
    const claims = drain.calls.filter(({ maxRows }) => maxRows > 0);
    expect(claims.at(-1)).toMatchObject({ heartbeatMs: 0 });
    expect(claims.at(-1)?.at).toBeLessThan(L.maxRunMs + L.heartbeatMs + 3 * L.claimEveryMs);
    expect(drain.leased.size).toBe(0);
  });
});

describe("many at once", () => {
  test("100 quick deliveries of 20 endpoints → each is sent once, and results are recorded in batches", async () => {
    const drain = makeWorker({ queues: endpoints(20, 5), request: ({ id }) => 3 + (id % 7) });
    await drain.runUntil(drain.kick());
    expect(drain.recorded.size).toBe(100);
    expect(drain.startedAt.size).toBe(100);
    expect(drain.calls.filter(({ results }) => results.length > 0).length).toBeLessThan(5);
  });

  test("a result → is recorded within 20 ms of the last call, or of its coming", async () => {
    const drain = makeWorker({ queues: endpoints(4, 8), request: ({ id }) => id * 13 });
    await drain.runUntil(drain.kick());
    for (const [id, started] of drain.startedAt) {
      const came = started + id * 13;
      expect((drain.recorded.get(id) ?? Number.POSITIVE_INFINITY) - came).toBeLessThanOrEqual(
        2 * (L.recordAfterMs + 5),
      );
    }
  });

  test("a result with nobody else under way → is recorded at once", async () => {
    const drain = makeWorker({ queues: { one: 1 } });
    await drain.runUntil(drain.kick());
    expect(drain.recorded.get(1)).toBe(18); // claimed in 5 ms, sent in 10, recorded 3 later
  });

  test("a result beside a request that is slow by now → is recorded at once: nobody waits for the slow one", async () => {
    const drain = makeWorker({
      queues: { slow: 1 },
      request: ({ endpoint }) => (endpoint === "slow" ? REQUEST_MS : 10),
    });
    drain.clock.after(1_000, () => {
      drain.add("quick", 1);
      void drain.kick();
    });
    await drain.runUntil(drain.kick());
    // The kick's look takes 5 ms, the request 10, recording 3.
    expect(drain.recorded.get(2)).toBe(1_018);
  });

  test("more endpoints than places → never more than maxInFlight under way, and every delivery arrives", async () => {
    const drain = makeWorker({
      queues: endpoints(30, 10),
      limits: { maxInFlight: 40, claimAtOnce: 25, recordAt: 10 },
      request: ({ id }) => 5 + (id % 50),
    });
    await drain.runUntil(drain.kick());
    expect(drain.mostUnderWay()).toBe(40);
    expect(Math.max(...drain.calls.map(({ maxRows }) => maxRows))).toBe(25);
    expect(drain.recorded.size).toBe(300);
  });

  test("a claim that was filled → the next follows at once", async () => {
    const drain = makeWorker({ queues: endpoints(100, 4), request: () => 1_000 });
    await drain.runUntil(drain.kick());
    expect([...drain.startedAt.values()].filter((at) => at <= 10)).toHaveLength(400);
  });

  test("two endpoints of twenty hang → the others finish as soon as without them", async () => {
    const quick = (endpoint: string) => !["endpoint 3", "endpoint 12"].includes(endpoint);
    async function lastQuick(hangs: boolean): Promise<number> {
      const drain = makeWorker({
        queues: endpoints(20, 100),
        request: ({ id, endpoint }) => (quick(endpoint) ? 10 + (id % 5) : hangs ? REQUEST_MS : 10),
      });
      let last = 0;
      await drain.runUntil(drain.kick());
      for (const [id, at] of drain.recorded) {
        // The queues were filled endpoint by endpoint, a hundred each.
        if (quick(`endpoint ${Math.floor((id - 1) / 100)}`)) last = Math.max(last, at);
      }
      expect(drain.mostUnderWay()).toBe(160);
      return last;
    }
    const [without, beside] = [await lastQuick(false), await lastQuick(true)];
    expect(without).toBeGreaterThan(0);
    expect(beside).toBeLessThan(without * 1.2);
  });

  test("an attempt that cannot be made → logged, the others go on, and its lease is left to run out", async () => {
    const drain = makeWorker({
      queues: { one: 3 },
      request: ({ id }) => {
        if (id === 2) throw new Error("The endpoint has no signing secret.");
        return 10;
      },
    });
    await drain.runUntil(drain.kick());
    expect([...drain.recorded.keys()]).toEqual([1, 3]);
    expect([...drain.leased.keys()]).toEqual([2]);
    expect(drain.lines.map((line) => JSON.parse(line))).toMatchObject([{ event: "attempt_not_made", level: "error" }]);
  });
});

describe("two calls at once", () => {
  const busy = {
    queues: endpoints(20, 20),
    limits: { recordAt: 10 },
    request: ({ id }: { id: number }) => 1 + (id % 4),
  };

  test("results pile up while a call is under way → a second call takes them, never a third, and none waits", async () => {
    const drain = makeWorker(busy);
    await drain.runUntil(drain.kick());
    const beside = drain.calls.filter((call) => call.beside > 0);
    expect(beside.length).toBeGreaterThan(5);
    expect(Math.max(...beside.map((call) => call.beside))).toBe(1);
    expect(beside.every(({ heartbeatMs, wait }) => heartbeatMs === L.heartbeatMs && wait === 0)).toBe(true);
    expect(beside.filter(({ results }) => results.length >= 10).length).toBeGreaterThan(5);
    expect(drain.recorded.size).toBe(400);
    expect(drain.mostUnderWay()).toBe(160);
  });

  test("few places in all → what both ask for fits into them", async () => {
    const drain = makeWorker({
      ...busy,
      limits: { recordAt: 5, maxInFlight: 30, claimAtOnce: 30 },
      request: ({ id }) => 5 + (id % 30),
    });
    await drain.runUntil(drain.kick());
    expect(drain.calls.some((call) => call.beside > 0)).toBe(true);
    expect(drain.mostUnderWay()).toBe(30);
    expect(drain.recorded.size).toBe(400);
  });

  test("the second fails → its results are recorded by a later call, and the drain goes on", async () => {
    let failed: number[] = [];
    const drain = makeWorker({
      ...busy,
      fault: ({ beside, results }) => {
        if (beside === 0 || failed.length > 0) return undefined;
        failed = results;
        throw new Error("no connection");
      },
    });
    await drain.runUntil(drain.kick());
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.every((id) => drain.recorded.has(id))).toBe(true);
    expect(drain.recorded.size).toBe(400);
  });

  test("a second call that takes long → the last claim waits for it, and every heartbeat has expired by then", async () => {
    const took = new Map<number, number>();
    const drain = makeWorker({
      queues: endpoints(20, 200),
      limits: { recordAt: 10, maxRunMs: 300 },
      request: ({ id }) => (id % 50) * 8,
      // The first that finds another under way.
      callMs: ({ at, beside }) => {
        const ms = beside > 0 && ![...took.values()].includes(1_000) ? 1_000 : 40;
        took.set(at, ms);
        return ms;
      },
    });
    await drain.runUntil(drain.kick());
    expect([...took.values()]).toContain(1_000);
    const lastLooks = drain.calls.filter(({ heartbeatMs, maxRows }) => heartbeatMs === 0 && maxRows > 0);
    expect(lastLooks.every(({ beside }) => beside === 0)).toBe(true);
    const lastAt = lastLooks[0]?.at ?? 0;
    for (const { at, heartbeatMs } of drain.calls.filter((call) => call.heartbeatMs > 0 && call.at < lastAt))
      expect(at + (took.get(at) ?? 0) + heartbeatMs).toBeLessThan(lastAt);
  });
});

test("results pile up while the last heartbeat expires → they are recorded, and no heartbeat follows", async () => {
  const drain = makeWorker({
    queues: endpoints(20, 200),
    limits: { recordAt: 10, maxRunMs: 300 },
    request: ({ id }) => (id % 50) * 8,
    callMs: () => 40,
  });
  await drain.runUntil(drain.kick());
  const lastAt = drain.calls.find(({ heartbeatMs, maxRows }) => heartbeatMs === 0 && maxRows > 0)?.at ?? 0;
  for (const { at, heartbeatMs } of drain.calls.filter((call) => call.heartbeatMs > 0 && call.at < lastAt))
    expect(at + 40 + heartbeatMs).toBeLessThan(lastAt);
});

describe("the database is away", () => {
  const away = () => {
    throw new Error("no connection to https://db.test/?key=secret");
  };

  test("with nothing under way → logged, the drain ends, and the next kick begins anew", async () => {
    let isAway = true;
    const drain = makeWorker({ queues: { one: 1 }, fault: () => (isAway ? away() : undefined) });
    await drain.runUntil(drain.kick());
    expect(drain.calls).toHaveLength(1);
    expect(drain.lines.join()).toContain("worker_stopped");
    expect(drain.lines.join()).not.toContain("secret");
    isAway = false;
    await drain.runUntil(drain.kick());
    expect(drain.recorded.size).toBe(1);
  });

  test("while requests are under way → their results are kept and recorded when it is back", async () => {
    const drain = makeWorker({
      queues: endpoints(20, 8),
      fault: ({ at }) => (at > 0 && at < 8_000 ? away() : undefined),
    });
    await drain.runUntil(drain.kick());
    expect(drain.recorded.size).toBe(160);
    expect(drain.startedAt.size).toBe(160);
    // With growing pauses, not in a loop.
    expect(drain.calls.filter(({ at }) => at < 8_000).length).toBeLessThan(12);
  });

  test("while results trickle in → calls with growing pauses all the same", async () => {
    const drain = makeWorker({
      queues: endpoints(20, 8),
      request: ({ id }) => id * 20,
      limits: { recordAt: 5 },
      fault: ({ at }) => (at > 0 && at < 8_000 ? away() : undefined),
    });
    await drain.runUntil(drain.kick());
    expect(drain.recorded.size).toBe(160);
    expect(drain.calls.filter(({ at }) => at < 8_000).length).toBeLessThan(24);
  });

  test("the answer of a recording gets lost → the results are sent again, and nothing is recorded twice", async () => {
    const drain = makeWorker({
      queues: { one: 8 },
      fault: (_call, count) => (count === 2 ? "lost" : undefined),
    });
    await drain.runUntil(drain.kick());
    expect(drain.calls[2]?.results).toEqual(drain.calls[1]?.results);
    expect(drain.recorded.size).toBe(8);
    expect(new Set(drain.recorded.values()).size).toBe(1);
  });

  test("the answer of a claim gets lost → the leases bring those back, the rest goes on", async () => {
    const drain = makeWorker({
      queues: { one: 20 },
      fault: (_call, count) => (count === 2 ? "lost" : undefined),
    });
    await drain.runUntil(drain.kick());
    expect(drain.recorded.size + drain.leased.size).toBe(16);
    expect(drain.leased.size).toBe(8);
  });

  test("for good → the results are given up after 20 s, the drain ends, and nothing is held any more", async () => {
    let isAway = true;
    const drain = makeWorker({ queues: { one: 8 }, fault: ({ at }) => (isAway && at > 0 ? away() : undefined) });
    await drain.runUntil(drain.kick());
    expect(drain.now()).toBeGreaterThan(L.giveUpAfterMs);
    expect(drain.now()).toBeLessThan(2 * L.giveUpAfterMs);
    expect(drain.recorded.size).toBe(0);
    isAway = false;
    const before = drain.calls.length;
    await drain.runUntil(drain.kick());
    expect(drain.calls[before]?.results).toEqual([]);
  });
});
