import type postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import {
  DATABASE_TIMEOUT_MS,
  DELIVER_LIMITS as L,
  LEASE_SECONDS,
} from "../../../supabase/functions/keyframe-deliver/lanes/lanes.ts";
import { REQUEST_TIMEOUT_MS as REQUEST_MS } from "../../../supabase/functions/keyframe-deliver/send/post.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { type Call, deliverOver, isSentOnce } from "../../support/database/deliver.ts";
import { clearWebhooks, tokenOf } from "../../support/database/webhooks.ts";

const db = useDatabase();
const { makeDeliver, addOwners, seedMany, isRecorded } = deliverOver(db);
beforeEach(() => clearWebhooks(db.sql));

test("the limits → a lease that is not renewed yet outlasts a pause and a call; a request its deadline", () => {
  const left = (LEASE_SECONDS * 2_000) / 3; // with less, a call renews it
  expect(left).toBeGreaterThan(DATABASE_TIMEOUT_MS + L.claimEveryMs);
  expect(left).toBeGreaterThan(L.renewEveryMs + 4_000);
  expect(L.workMs).toBeGreaterThan(REQUEST_MS);
});

describe("a lane", () => {
  test("400 deliveries of 20 endpoints, one slow → each sent once, in batches, quick ones first, within each one's limit", async () => {
    const deliver = makeDeliver({ request: (_, endpoint) => (endpoint === "slow" ? REQUEST_MS - 1 : 3) });
    for (let i = 1; i < 20; i++) await deliver.add(`quick ${i}`, null, 20);
    const slow = await deliver.add("slow", null, 20);
    await deliver.runUntil(deliver.kick());
    expect(isSentOnce(deliver.startedAt)).toBe(true);
    const quick = [...deliver.startedAt].filter(([id, [at = 0]]) => !slow.deliveries.includes(id) && at < 1_000);
    expect(quick).toHaveLength(380);
    expect(deliver.mostOpen("quick 3")).toBeLessThanOrEqual(8);
    expect(deliver.mostOpen("slow")).toBe(1); // its answers are slow
    expect(deliver.calls.filter(({ at, results }) => at < 1_000 && results.length > 0).length).toBeLessThan(40);
    expect(await tokenOf(db.sql, slow.id)).toBe(null);
  });

  test("more owners than lanes at once → each is served: a lane that is released makes room", async () => {
    const deliver = makeDeliver();
    await Promise.all(Array.from({ length: 300 }, () => deliver.add("", null, 1)));
    await deliver.runUntil(deliver.kick());
    expect((await isRecorded()).size).toBe(300);
  });

  test("max_in_flight of 1 → one after the other, in order, without a call between two", async () => {
    const deliver = makeDeliver();
    const { deliveries } = await deliver.add("strict", null, 20, { max_in_flight: 1 });
    await deliver.runUntil(deliver.kick());
    expect(deliver.mostOpen("strict")).toBe(1);
    expect([...deliver.startedAt.keys()]).toEqual(deliveries);
    expect(deliver.startOf(deliveries[1] ?? "")).toBe(deliver.startOf(deliveries[0] ?? "") + 10);
  });

  test("max_in_flight is lowered → what is open ends, and no more are opened, also of what waits", async () => {
    const deliver = makeDeliver({ request: () => 1_000 });
    const { id } = await deliver.add("before", null, 45);
    deliver.clock.after(
      4_300, // all are with the worker
      () => void deliver.outside(db.sql`update keyframe.webhook_endpoints set max_in_flight = 1 where id = ${id}`),
    );
    deliver.clock.after(4_600, () => deliver.name(id, "after"));
    await deliver.runUntil(deliver.kick());
    expect(deliver.mostOpen("before")).toBe(8);
    expect(deliver.mostOpen("after")).toBe(1);
  });

  test("slow requests → the lane is renewed, also after the maximum run time, and nothing is sent twice", async () => {
    const deliver = makeDeliver({ request: () => 14_000 });
    await deliver.add("slow", null, 4);
    await deliver.runUntil(deliver.kick());
    const times = deliver.calls.filter(({ claim }) => claim.lanes.length > 0).map(({ at }) => at);
    expect(Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? 0)))).toBeLessThan(10_000);
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  });

  test("400 slow deliveries → the run takes no more at its end, and is over in time for the platform", async () => {
    const deliver = makeDeliver({ request: () => 14_000 });
    await Promise.all(Array.from({ length: 40 }, () => deliver.add("", null, 10)));
    await deliver.runUntil(deliver.kick());
    expect(deliver.now()).toBeLessThan(L.maxRunMs + 2 * REQUEST_MS);
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  });

  test("a failure → what waits in the lane is not sent before the database has judged it", async () => {
    const deliver = makeDeliver({ request: () => ({ ms: 10, error: "timeout" }) });
    await deliver.add("broken", null, 50);
    await deliver.runUntil(deliver.kick());
    expect(deliver.mostOpen("broken")).toBe(1);
    const starts = [...deliver.startedAt.values()].flat().toSorted((a, b) => a - b);
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBeGreaterThan(10);
  });

  test("a failure while a call brings more, at a max_in_flight of 1 → that is not sent before what waited: all keep their order", async () => {
    let requests = 0;
    const deliver = makeDeliver({
      request: () => (requests++ === 1 ? { ms: 60, error: "timeout" } : 60),
      callMs: () => 50,
    });
    const { deliveries } = await deliver.add("strict", null, 10, { max_in_flight: 1 });
    await deliver.runUntil(deliver.kick());
    expect([...deliver.startedAt.keys()]).toEqual(deliveries);
  });

  test("its endpoint is disabled → what waits is not sent; what is open is recorded", async () => {
    const deliver = makeDeliver({ request: () => 400 });
    const { id } = await deliver.add("one", null, 50);
    deliver.clock.after(
      100,
      () => void deliver.outside(db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${id}`),
    );
    await deliver.runUntil(deliver.kick());
    expect([deliver.startedAt.size, (await isRecorded()).size]).toEqual([1, 1]);
    expect(await tokenOf(db.sql, id)).toBe(null);
  });

  test("it raises when it is taken → logged with its SQLSTATE, and what others have is sent", async () => {
    const deliver = makeDeliver();
    const [bad, good] = [await deliver.add("bad", null, 1), await deliver.add("good", null, 20)];
    await db.sql.unsafe(`
      create function public.refuse_lane() returns trigger language plpgsql as $$ begin raise 'It cannot be taken.'; end $$;
      create trigger refuse before update on keyframe_private.lanes for each row
        when (new.id = '${bad.id}' and new.token is not null) execute function public.refuse_lane()`);
    await deliver.runUntil(deliver.kick());
    await db.sql`drop trigger refuse on keyframe_private.lanes`;
    expect(await isRecorded()).toEqual(new Set(good.deliveries));
    expect(deliver.lines("row_set_aside")).toContainEqual({ kind: "lane", id: bad.id, code: "P0001", failures: 1 });
  });

  test("an attempt that cannot be made → logged, the lane is left to expire, and the others go on", async () => {
    const deliver = makeDeliver({
      request: (_, endpoint) => {
        if (endpoint === "one") throw new Error("an internal fault");
        return 10;
      },
    });
    const one = await deliver.add("one", null, 1);
    const two = await deliver.add("two", null, 3);
    await deliver.runUntil(deliver.kick());
    expect(deliver.events()).toEqual(["work_failed"]);
    expect(await isRecorded()).toEqual(new Set(two.deliveries));
    await deliver.sleepUntil(LEASE_SECONDS * 1000);
    await deliver.runUntil(deliver.kick());
    const [first = 0, again = 0] = deliver.startedAt.get(one.deliveries[0] ?? "") ?? [];
    expect(again - first).toBeGreaterThanOrEqual(LEASE_SECONDS * 1000);
  });

  test("its delivery is locked when its result comes → recorded afterwards and not sent again; others go on", async () => {
    const deliver = makeDeliver();
    const one = await deliver.add("one", null, 1);
    const two = await deliver.add("two", null, 20);
    const connection = await db.sql.reserve();
    await connection`begin`;
    await connection`update keyframe.webhook_deliveries set created_at = created_at where id = ${one.deliveries[0] ?? ""}`;
    deliver.clock.after(1_500, () => void deliver.outside(connection`rollback`));
    await deliver.runUntil(deliver.kick());
    connection.release();
    expect(new Set(deliver.events())).toEqual(new Set(["result_not_recorded"]));
    expect(await isRecorded()).toEqual(new Set([...one.deliveries, ...two.deliveries]));
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  });
});

describe("a worker that was frozen", () => {
  test("its lane is another's now → it sends nothing of it any more; what it has sent is recorded", async () => {
    const deliver = makeDeliver({ request: () => 400 });
    const { id } = await deliver.add("one", null, 16);
    const steal = db.sql`update keyframe_private.lanes set token = gen_random_uuid(), due_at = now() + interval '1 hour' where id = ${id}`;
    deliver.clock.after(100, () => void deliver.outside(steal));
    await deliver.runUntil(deliver.kick());
    expect([deliver.startedAt.size, (await isRecorded()).size]).toEqual([1, 1]);
  });

  test("its lane was lost and taken again while requests were open → what waited before is not sent a second time", async () => {
    const deliver = makeDeliver({ request: () => 400 });
    const { id } = await deliver.add("one", null, 16);
    // As when another worker had it for a moment.
    const lose = db.sql`update keyframe_private.lanes set token = null, due_at = '-infinity' where id = ${id}`;
    deliver.clock.after(100, () => void deliver.outside(lose));
    await deliver.runUntil(deliver.kick());
    const twice = [...deliver.startedAt.values()].filter((starts) => starts.length > 1);
    expect(twice.length).toBeLessThanOrEqual(1); // the open one
    expect((await isRecorded()).size).toBe(16);
  });

  test("the database is away for longer than a lease → what waits is sent only after a call has renewed the lane", async () => {
    let isAway = false;
    const deliver = makeDeliver({
      request: () => 2_900,
      fault: () => {
        if (isAway) throw new Error("away");
        return undefined;
      },
    });
    await deliver.add("one", null, 16, { max_in_flight: 1 });
    deliver.clock.after(50, () => {
      isAway = true;
    });
    deliver.clock.after(16_000, () => {
      isAway = false;
    });
    await deliver.runUntil(deliver.kick());
    const starts = [...deliver.startedAt.values()].flat();
    expect(starts.filter((at) => at > LEASE_SECONDS * 1000 && at < 16_000)).toEqual([]);
    expect(starts.some((at) => at > 16_000)).toBe(true);
  });
});

const rename = (name: string, to: string) => db.sql.unsafe(`alter function keyframe_private.${name} rename to ${to}`);
let locking: postgres.ReservedSql;

test.each<[what: string, harm: () => Promise<unknown>, mend: () => Promise<unknown>]>([
  [
    "claims fail, but results are recorded",
    () => rename("claim_deliveries", "gone"),
    () => rename("gone", "claim_deliveries"),
  ],
  [
    "somebody has locked the lane",
    async () => {
      locking = await db.sql.reserve();
      await locking`begin`;
      await locking`select from keyframe_private.lanes for update`;
    },
    async () => {
      await locking`rollback`;
      locking.release();
    },
  ],
])(
  "%s for longer than a lease → what waits is sent only after a call has renewed the lane, and once",
  async (_what, harm, mend) => {
    const deliver = makeDeliver({ request: () => 2_900 });
    await deliver.add("one", null, 30, { max_in_flight: 3 });
    deliver.clock.after(9_000, () => void deliver.outside(harm()));
    try {
      await deliver.runUntil(deliver.kick());
      await deliver.sleepUntil(25_000);
    } finally {
      await mend();
    }
    await deliver.runUntil(deliver.kick());
    const starts = [...deliver.startedAt.values()].flat();
    expect(starts.filter((at) => at > 9_000 + (LEASE_SECONDS * 2_000) / 3 && at < 25_000)).toEqual([]);
    expect(starts.some((at) => at > 25_000)).toBe(true);
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  },
);

test("150 quick lanes bring eight deliveries each → more than 800 wait, calls go on, and each is sent once", async () => {
  const deliver = makeDeliver({ request: () => 200 });
  const endpoints = await db.sql<{ id: string }[]>`
    insert into keyframe.webhook_endpoints (url) select 'https://quick-' || i || '.example' from generate_series(1, 150) i returning id`;
  const ids = endpoints.map(({ id }) => id);
  await seedMany(ids, deliver.at()); // once they have answered, they are known to be quick
  deliver.clock.after(2_000, () => void deliver.outside(seedMany([ids, ids, ids, ids].flat(), deliver.at())));
  await deliver.runUntil(deliver.kick());
  const waiting = ({ claim }: Call) => claim.lanes.flatMap(({ sending }) => sending.slice(2)).length;
  expect(Math.max(...deliver.calls.map(waiting))).toBeGreaterThan(800);
  expect(deliver.events()).toEqual([]);
  expect([deliver.startedAt.size, isSentOnce(deliver.startedAt)]).toEqual([1_500, true]);
});

describe("nobody's trouble stops anybody else", () => {
  test("20 owners with twenty slow endpoints each → a quick endpoint with many deliveries keeps its speed", async () => {
    const deliver = makeDeliver({ request: (_id, endpoint) => (endpoint === "quick" ? 10 : 14_000) });
    const [, endpoints] = await addOwners(20, 20);
    await seedMany(
      endpoints.map(({ id }) => id),
      deliver.at(),
    );
    const quick = await deliver.add("quick", null, 1_000);
    await deliver.runFor(4_000);
    expect(deliver.mostOpen("quick")).toBe(8);
    for (const id of quick.deliveries) expect(deliver.startOf(id)).toBeLessThan(4_000);
  });

  test("an owner with a quick endpoint and a hanging one → the quick one is not held up", async () => {
    const deliver = makeDeliver({
      request: (_id, endpoint) => (endpoint === "quick" ? 10 : { ms: 15_000, error: "timeout" }),
    });
    const owner = await db.addUser();
    await deliver.add("hanging", owner, 50);
    const quick = await deliver.add("quick", owner, 100);
    await deliver.runFor(2_000);
    for (const id of quick.deliveries) expect(deliver.startOf(id)).toBeLessThan(2_000);
  });

  test("an owner switches its hanging endpoints off and on → no more requests to them; another's event is sent at once", async () => {
    const deliver = makeDeliver({ request: (_id, endpoint) => (endpoint === "innocent" ? 10 : 14_000) });
    const owner = await db.addUser();
    for (let j = 0; j < 5; j++) await deliver.add("hanging", owner, 60);
    const innocent = await deliver.add("innocent", null, 0);
    const change = (enabled: boolean) =>
      deliver.outside(db.sql`update keyframe.webhook_endpoints set enabled = ${enabled} where owner_id = ${owner}`);
    for (let at = 500; at < 12_000; at += 500) deliver.clock.after(at, () => void change(at % 1_000 === 0));
    const events: { id: string; at: number }[] = [];
    for (let at = 250; at < 12_000; at += 750)
      deliver.clock.after(at, () => void deliver.deliver(innocent.id).then((event) => void events.push(event)));
    await deliver.runFor(13_000);
    expect(deliver.mostOpen("hanging")).toBeLessThanOrEqual(2);
    for (const { id, at } of events) expect(deliver.startOf(id) - at).toBeLessThan(300);
  });

  test("quick endpoints hang all at once → an owner has at most a quarter of all requests, one with none gets one", async () => {
    let hangs = false;
    const deliver = makeDeliver({ request: (_id, endpoint) => (hangs && endpoint !== "innocent" ? 14_000 : 10) });
    const owners = [await db.addUser(), await db.addUser(), await db.addUser()];
    for (const owner of owners) await Promise.all(Array.from({ length: 20 }, () => deliver.add(owner, owner, 40)));
    const innocent = await deliver.add("innocent", null, 0);
    deliver.clock.after(120, () => {
      hangs = true;
    });
    let event = { id: "", at: 0 };
    deliver.clock.after(2_000, async () => {
      event = await deliver.deliver(innocent.id);
    });
    await deliver.runFor(17_000);
    expect(deliver.startOf(event.id) - event.at).toBeLessThan(300);
    for (const owner of owners) expect(deliver.mostOpen(owner)).toBeLessThanOrEqual(L.maxOpen / 4);
  });

  test.each([1_000, 2_000, 3_000])(
    "calls of the database that take %i ms → everything is sent once, only later, and the log says it",
    async (ms) => {
      const deliver = makeDeliver({ callMs: () => ms });
      for (let i = 0; i < 20; i++) await deliver.add("", null, 4);
      await deliver.runUntil(deliver.kick());
      if ((await isRecorded()).size < 80) await deliver.runUntil(deliver.kick());
      expect((await isRecorded()).size).toBe(80);
      expect(isSentOnce(deliver.startedAt)).toBe(true);
      expect(deliver.events()).toContain("database_slow");
    },
  );
});

test("claims take too long → results are recorded first; then a quarter is claimed, and twice as much each time", async () => {
  let failures = 0;
  const deliver = makeDeliver({
    fault: ({ claim, results }) => {
      if (results.length > 0 && claim.max_lanes > 0 && failures++ < 1) throw new Error("took too long");
      return undefined;
    },
  });
  for (let i = 0; i < 20; i++) await deliver.add("", null, 20);
  await deliver.runUntil(deliver.kick());
  expect((await isRecorded()).size).toBe(400);
  expect(isSentOnce(deliver.startedAt)).toBe(true);
  const first = deliver.calls.findIndex(({ results, claim }) => results.length > 0 && claim.max_lanes > 0);
  const [failed, recorded, quarter, half, whole] = deliver.calls.slice(first, first + 5);
  expect([failed, quarter, half, whole].map((call) => call?.claim.max_bytes)).toEqual([2e6, 5e5, 1e6, 2e6]);
  expect(recorded?.claim.max_lanes).toBe(0);
  expect(recorded?.results).toEqual(expect.arrayContaining(failed?.results ?? []));
  expect(recorded?.claim.lanes.every(({ most }) => most === 0)).toBe(true);
});

test("the answer of a claim gets lost → the lanes it took expire; nothing is sent twice", async () => {
  let lost = 0;
  const deliver = makeDeliver({ fault: ({ at }) => (at > 10 && lost++ === 0 ? "lost" : undefined) });
  for (let i = 0; i < 4; i++) await deliver.add("", null, 20);
  await deliver.runUntil(deliver.kick());
  await deliver.sleepUntil(LEASE_SECONDS * 1000 + 1_000);
  await deliver.runUntil(deliver.kick());
  expect((await isRecorded()).size).toBe(80);
  expect(isSentOnce(deliver.startedAt)).toBe(true);
});
