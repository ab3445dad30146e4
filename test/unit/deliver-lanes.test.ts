import { describe, expect, test } from "vitest";
import { createLog } from "../../shared/platform/log.ts";
import { createWorker } from "../../shared/worker/worker.ts";
import {
  type AttemptResult,
  createExchange,
  type Delivery,
  type ExchangeLimits,
  type HeldLane,
} from "../../supabase/functions/keyframe-deliver/lanes/database.ts";
import {
  createLanes,
  DATABASE_TIMEOUT_MS,
  DELIVER_LIMITS as L,
  LAST_LEASE_SECONDS,
  LEASE_SECONDS,
} from "../../supabase/functions/keyframe-deliver/lanes/lanes.ts";
import { REQUEST_TIMEOUT_MS as REQUEST_MS } from "../../supabase/functions/keyframe-deliver/send/post.ts";
import { makeClock } from "./worker-clock.ts";

type Call = ExchangeLimits & { at: number; held: HeldLane[]; results: AttemptResult[] };
type Endpoint = {
  owner: string;
  due: string[];
  maxOpen: number;
  isEnabled: boolean;
  token: string | null;
  until: number;
};

/**
 * Lanes and their worker over a database in memory, which follows exchange_deliveries. A call takes 5 ms. `request` gives how long a
 * request takes and whether it fails; it may also throw.
 */
function makeDeliver(options: {
  endpoints: Record<string, Partial<Endpoint> & { count: number }>;
  request?: (id: string, endpoint: string) => number | { ms: number; error: "timeout" };
  /** Called in each transaction. What it throws, the call throws; "lost": the work was done, the answer got lost. */
  fault?: (call: Call) => "lost" | undefined;
}) {
  const time = makeClock();
  const endpoints = new Map<string, Endpoint>();
  for (const [name, { count, ...given }] of Object.entries(options.endpoints)) {
    const due = Array.from({ length: count }, (_, i) => `${name} ${i + 1}`);
    endpoints.set(name, { owner: name, due, maxOpen: 8, isEnabled: true, token: null, until: 0, ...given });
  }
  const calls: Call[] = [];
  const lines: string[] = [];
  const startedAt = new Map<string, number[]>();
  const recorded = new Map<string, number>();
  const open = new Map<string, number>();
  const mostOpen = new Map<string, number>();
  let tokens = 0;

  const get = (name: string) => endpoints.get(name) ?? (Promise.reject(new Error(name)) as never);
  const count = (key: string, by: number) => {
    open.set(key, (open.get(key) ?? 0) + by);
    mostOpen.set(key, Math.max(mostOpen.get(key) ?? 0, open.get(key) ?? 0));
  };

  function transact({ held, results, maxLanes, leaseSeconds }: Call) {
    for (const { id, lane_token, error } of results) {
      const endpoint = [...endpoints.values()].find(({ token }) => token === lane_token);
      if (!endpoint?.due.includes(id)) continue;
      if (error === null) endpoint.due.splice(endpoint.due.indexOf(id), 1);
      else endpoint.maxOpen = 1;
      recorded.set(id, recorded.get(id) ?? time.now());
    }
    const kept = held.filter(({ endpoint_id, token }) => get(endpoint_id).token === token);
    const free = [...endpoints].filter(
      ([, { due, isEnabled, token, until }]) => isEnabled && due.length > 0 && (token === null || until <= time.now()),
    );
    const taken = free.slice(0, maxLanes).filter(([name]) => kept.every(({ endpoint_id }) => endpoint_id !== name));
    const lanes = [
      ...kept,
      ...taken.map(([endpoint_id]) => ({
        endpoint_id,
        token: `token ${++tokens}`,
        sending: [] as string[],
        more: true,
      })),
    ].flatMap(({ endpoint_id: endpointId, token, sending, more }) => {
      const endpoint = get(endpointId);
      const { owner: ownerId, due, maxOpen, isEnabled } = endpoint;
      const ids =
        more && isEnabled
          ? due.filter((id) => !sending.includes(id)).slice(0, Math.max(0, 2 * maxOpen - sending.length))
          : [];
      const isBusy = ids.length + sending.length > 0;
      Object.assign(endpoint, { token: isBusy ? token : null, until: isBusy ? time.now() + leaseSeconds * 1000 : 0 });
      const rest = { attempt: 1, laneToken: token, endpointId, eventId: "", body: "", url: "", secrets: [] };
      return ids.length > 0
        ? [{ endpointId, token, ownerId, maxOpen, deliveries: ids.map((id) => ({ id, ...rest })) }]
        : [];
    });
    const ended = held.filter(
      ({ endpoint_id }) => !get(endpoint_id).isEnabled || kept.every((lane) => lane.endpoint_id !== endpoint_id),
    );
    return { lanes, ended: ended.map(({ endpoint_id }) => endpoint_id) };
  }

  const lanes = createLanes({
    async exchange(results, held, limits) {
      const call = { at: time.now(), held, results, ...limits };
      calls.push(call);
      await time.sleep(3);
      if (call.waitMs > 0 && ![...endpoints.values()].some(({ due, token }) => due.length > 0 && token === null))
        await time.sleep(call.waitMs);
      const fault = options.fault?.(call);
      const answer = transact(call);
      await time.sleep(2);
      if (fault === "lost") throw new Error("no answer");
      return answer;
    },
    async attempt({ id, attempt, laneToken, endpointId }: Delivery): Promise<AttemptResult> {
      startedAt.set(id, [...(startedAt.get(id) ?? []), time.now()]);
      const keys = [endpointId, get(endpointId).owner, "all"];
      for (const key of new Set(keys)) count(key, 1);
      try {
        const took = options.request?.(id, endpointId) ?? 10;
        const { ms, error } = typeof took === "number" ? { ms: took, error: null } : took;
        await time.sleep(ms);
        const rest = {
          started_at: "",
          duration_ms: ms,
          status_code: error === null ? 200 : null,
          response_excerpt: null,
        };
        return { id, attempt, lane_token: laneToken, error, retry_after_seconds: null, ...rest };
      } finally {
        for (const key of new Set(keys)) count(key, -1);
      }
    },
    clock: time.clock,
  });
  const log = createLog({}, (line) => void lines.push(line));
  const kick = createWorker({
    ...lanes,
    identify: ({ delivery: { id } }) => ({ deliveryId: id }),
    log,
    clock: time.clock,
    limits: L,
  });
  const events = () => lines.map((line) => JSON.parse(line).event);
  return {
    ...time,
    kick,
    endpoints: get,
    calls,
    events,
    startedAt,
    recorded,
    mostOpen: (key: string) => mostOpen.get(key) ?? 0,
  };
}

const many = (count: number, given: Partial<Endpoint> & { count: number }) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`endpoint ${i}`, given]));

test("the limits → a lease outlasts two pauses between calls, and a request its deadline", () => {
  expect(LEASE_SECONDS * 750).toBeGreaterThan(3 * (L.claimEveryMs + L.heartbeatMs));
  // A call that fails and the next one fit in as well, also when the database does not answer it.
  expect(LAST_LEASE_SECONDS * 750).toBeGreaterThan(L.renewEveryMs + Math.max(L.renewEveryMs, DATABASE_TIMEOUT_MS));
  expect(L.workMs).toBeGreaterThan(REQUEST_MS);
});

describe("a lane", () => {
  test("400 deliveries of 20 endpoints, one of them slow → each is sent once, eight at once to each, in batches, the quick ones first", async () => {
    const request = (id: string) => (id === "endpoint 3 1" ? REQUEST_MS : 3 + (id.length % 7));
    const deliver = makeDeliver({ endpoints: many(20, { count: 20 }), request });
    await deliver.runUntil(deliver.kick());
    expect(deliver.recorded.size).toBe(400);
    expect([...deliver.startedAt.values()].every((times) => times.length === 1)).toBe(true);
    expect(deliver.mostOpen("endpoint 3")).toBe(8);
    const quick = [...deliver.recorded.values()].filter((at) => at < 2_000);
    expect(quick).toHaveLength(399);
    expect(deliver.calls.filter(({ at, results }) => at < 2_000 && results.length > 0).length).toBeLessThan(20);
    expect(deliver.endpoints("endpoint 3").token).toBe(null);
  });

  test("more endpoints than lanes at once → each is served: a lane that is released makes room", async () => {
    const deliver = makeDeliver({ endpoints: many(500, { count: 1 }) });
    await deliver.runUntil(deliver.kick());
    expect(deliver.recorded.size).toBe(500);
  });

  test("max_in_flight of 1 → one after the other, in order, without a call between two", async () => {
    const deliver = makeDeliver({ endpoints: { strict: { count: 20, maxOpen: 1 } } });
    await deliver.runUntil(deliver.kick());
    expect(deliver.mostOpen("strict")).toBe(1);
    expect([...deliver.startedAt.keys()]).toEqual(Array.from({ length: 20 }, (_, i) => `strict ${i + 1}`));
    const starts = [...deliver.startedAt.values()].flat();
    expect(starts[1]).toBe((starts[0] ?? 0) + 10);
  });

  test("slow requests → the lane is renewed at least every ten seconds, also after the maximum run time", async () => {
    const deliver = makeDeliver({ endpoints: { slow: { count: 40 } }, request: () => 14_000 });
    await deliver.runUntil(deliver.kick());
    const times = deliver.calls.filter(({ held }) => held.length > 0).map(({ at }) => at);
    expect(Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? 0)))).toBeLessThan(10_000);
    expect([...deliver.startedAt.values()].every((starts) => starts.length === 1)).toBe(true);
  });

  test("a failure → what waits in the lane is not sent before the database has judged it", async () => {
    const deliver = makeDeliver({
      endpoints: { broken: { count: 50 } },
      request: () => ({ ms: 10, error: "timeout" }),
      fault: ({ at }) => (at > 100 ? deliver.endpoints("broken").due.splice(0) && undefined : undefined),
    });
    await deliver.runUntil(deliver.kick());
    expect(deliver.mostOpen("broken")).toBe(8);
    const first = Math.min(...[...deliver.startedAt.values()].flat());
    expect([...deliver.startedAt.values()].flat().filter((at) => at < first + 14)).toHaveLength(8);
  });

  test("its endpoint is disabled → what waits is not sent; what is open is recorded", async () => {
    const deliver = makeDeliver({ endpoints: { one: { count: 50 } }, request: () => 400 });
    deliver.clock.after(100, () => {
      deliver.endpoints("one").isEnabled = false;
    });
    await deliver.runUntil(deliver.kick());
    expect([deliver.startedAt.size, deliver.recorded.size]).toEqual([8, 8]);
    expect(deliver.endpoints("one").token).toBe(null);
  });

  test("an attempt that cannot be made → logged, the lane is left to expire, and the others go on", async () => {
    const deliver = makeDeliver({
      endpoints: { one: { count: 1 }, two: { count: 3 } },
      request: (id) => {
        if (id === "one 1") throw new Error("an internal fault");
        return 10;
      },
    });
    await deliver.runUntil(deliver.kick());
    expect(new Set(deliver.events())).toEqual(new Set(["work_failed"]));
    expect([...deliver.recorded.keys()]).toEqual(["two 1", "two 2", "two 3"]);
    const tries = deliver.startedAt.get("one 1") ?? [];
    expect(Math.min(...tries.slice(1).map((at, i) => at - (tries[i] ?? 0)))).toBeGreaterThanOrEqual(
      LEASE_SECONDS * 1000,
    );
  });
});

describe("a worker that was frozen", () => {
  test("its lane is another's now → it sends nothing of it any more, and its results do not count", async () => {
    const deliver = makeDeliver({ endpoints: { one: { count: 16, maxOpen: 4 } }, request: () => 400 });
    deliver.clock.after(100, () => {
      deliver.endpoints("one").token = "another's";
      deliver.endpoints("one").until = 60_000;
    });
    await deliver.runUntil(deliver.kick());
    expect([deliver.startedAt.size, deliver.recorded.size]).toEqual([4, 0]);
  });

  test("for longer than its lease → what waits is sent only after a call has renewed the lane", async () => {
    let isAway = false;
    const deliver = makeDeliver({
      endpoints: { one: { count: 8, maxOpen: 4 } },
      request: () => 12_000, // as long as the database is away, which is the same for the lane
      fault: () => {
        if (isAway) throw new Error("away");
        return undefined;
      },
    });
    deliver.clock.after(50, () => {
      isAway = true;
    });
    deliver.clock.after(14_000, () => {
      isAway = false;
    });
    await deliver.runUntil(deliver.kick());
    const starts = [...deliver.startedAt.values()].flat();
    expect(starts.filter((at) => at > 50 && at < 14_000)).toEqual([]);
    expect(deliver.recorded.size).toBe(8);
  });
});

describe("fairness", () => {
  test("three owners with twenty slow endpoints each → each gets a quarter of all requests, another's event is sent at once", async () => {
    const greedy = Object.fromEntries(
      ["a", "b", "c"].flatMap((owner) => Array.from({ length: 20 }, (_, i) => [`${owner} ${i}`, { owner, count: 16 }])),
    );
    const deliver = makeDeliver({
      endpoints: { ...greedy, innocent: { count: 0 } },
      request: (_id, endpoint) => (endpoint === "innocent" ? 10 : 14_000),
    });
    const addedAt: number[] = [];
    for (const at of [5_000, 10_000, 20_000]) {
      deliver.clock.after(at, () => {
        addedAt.push(deliver.now());
        deliver.endpoints("innocent").due.push(`innocent ${at}`);
      });
    }
    await deliver.runUntil(deliver.kick());
    for (const owner of ["a", "b", "c"]) expect(deliver.mostOpen(owner)).toBeLessThanOrEqual(200);
    expect(deliver.mostOpen("all")).toBeLessThan(400);
    for (const at of addedAt)
      expect((deliver.startedAt.get(`innocent ${at}`)?.[0] ?? Number.NaN) - at).toBeLessThan(150);
    expect(deliver.recorded.size).toBeGreaterThan(3 * 100);
  });

  test("an owner with more than may be open → its lanes take turns", async () => {
    const deliver = makeDeliver({ endpoints: many(30, { owner: "one", count: 40 }), request: () => 100 });
    await deliver.runUntil(deliver.kick());
    const first = [...Array(30).keys()].map((i) =>
      Math.min(...(deliver.startedAt.get(`endpoint ${i} 1`) ?? [Number.NaN])),
    );
    expect(Math.max(...first)).toBeLessThan(200);
    expect(deliver.mostOpen("one")).toBe(200);
  });
});

test("the answer of a claim gets lost → the lanes it took expire; what it released or lost is dropped, nothing is sent twice", async () => {
  let lost = 0;
  const deliver = makeDeliver({
    endpoints: many(4, { count: 20 }),
    fault: ({ at }) => (at > 10 && lost++ === 0 ? "lost" : undefined),
  });
  await deliver.runUntil(deliver.kick());
  expect(deliver.recorded.size).toBe(80);
  expect([...deliver.startedAt.values()].every((starts) => starts.length === 1)).toBe(true);
});

const EXCHANGE = { maxLanes: 100, leaseSeconds: 15, heartbeatMs: 300, waitMs: 100 };

test("an exchange → the limits go to the database by their names", async () => {
  const calls: unknown[] = [];
  const exchange = createExchange(async (...call) => {
    calls.push(call);
    return { recorded: 0, lanes: [], ended: ["e2"] };
  });
  expect(await exchange([], [], EXCHANGE)).toEqual({ lanes: [], ended: ["e2"] });
  const limits = { max_lanes: 100, lease_seconds: 15, heartbeat_ms: 300, wait_ms: 100 };
  expect(calls).toEqual([["exchange_deliveries", { results: [], held: [], ...limits }]]);
});

test.each([null, [], { lanes: [{ endpoint_id: "e1" }], ended: [] }])(
  "the database answers %j → rejected",
  async (odd) => {
    await expect(createExchange(async () => odd)([], [], EXCHANGE)).rejects.toThrow();
  },
);
