import { beforeEach, describe, expect, test } from "vitest";
import { DELIVER_LIMITS as L } from "../../../supabase/functions/keyframe-deliver/deliveries/delivery-work.ts";
import { REQUEST_TIMEOUT_MS as REQUEST_MS } from "../../../supabase/functions/keyframe-deliver/send/post.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { deliverOver, isSentOnce } from "../../support/database/deliver.ts";
import { withFailing } from "../../support/database/failing.ts";
import { clearWebhooks, leasedOf } from "../../support/database/webhooks.ts";

const db = useDatabase();
const { makeDeliver, isRecorded } = deliverOver(db);
beforeEach(() => clearWebhooks(db.sql));

const QUICK = { standing: "quick" };
const LEASE_MS = 30_000;
const HANGS = 14_000;

describe("deliveries to an endpoint", () => {
  test("400 deliveries to 20 endpoints, one slow → each sent once, in few calls, quick ones first, within each endpoint's limit", async () => {
    const deliver = makeDeliver({ request: (_, endpoint) => (endpoint === "slow" ? REQUEST_MS - 1 : 3) });
    for (let i = 1; i < 20; i++) await deliver.add(`quick ${i}`, null, 20);
    const slow = await deliver.add("slow", null, 20);
    await deliver.runUntil(deliver.kick());
    expect(isSentOnce(deliver.startedAt)).toBe(true);
    const quick = [...deliver.startedAt].filter(([id, [at = 0]]) => !slow.deliveries.includes(id) && at < 1_000);
    expect(quick).toHaveLength(380);
    for (const name of ["quick 3", "slow"]) expect(deliver.mostOpen(name)).toBe(8);
    expect(deliver.calls.filter(({ at, results }) => at < 1_000 && results.length > 0).length).toBeLessThan(40);
    expect(await leasedOf(db.sql, slow.id)).toEqual([]);
  });

  test("an endpoint with max_in_flight 1 → its deliveries are sent one after the other, in order, several between calls", async () => {
    const deliver = makeDeliver();
    const { deliveries } = await deliver.add("strict", null, 20, { ...QUICK, max_in_flight: 1 });
    await deliver.runUntil(deliver.kick());
    expect(deliver.mostOpen("strict")).toBe(1);
    expect([...deliver.startedAt.keys()]).toEqual(deliveries);
    expect(deliver.startOf(deliveries[3] ?? "")).toBe(deliver.startOf(deliveries[0] ?? "") + 30);
  });

  test("an endpoint fails → waiting deliveries are given back; one at a time is sent, each after the last failure is recorded", async () => {
    const deliver = makeDeliver({ request: () => ({ ms: 10, error: "timeout" }) });
    const { id, deliveries } = await deliver.add("broken", null, 50, { ...QUICK, max_in_flight: 1 });
    await deliver.runFor(300);
    expect(deliver.mostOpen("broken")).toBe(1);
    const order = [...deliver.startedAt.keys()];
    expect(order).toEqual(deliveries.slice(0, order.length));
    const starts = [...deliver.startedAt.values()].flat();
    for (const [i, at] of starts.slice(1).entries()) expect(at - (starts[i] ?? 0)).toBeGreaterThan(10);
    expect((await leasedOf(db.sql, id)).length).toBeLessThanOrEqual(1);
  });

  test("an endpoint's max_in_flight is lowered → open requests end, and no more than the new number are opened", async () => {
    const deliver = makeDeliver({ request: () => 1_000 });
    const { id } = await deliver.add("before", null, 45);
    const lower = () => db.sql`update keyframe.webhook_endpoints set max_in_flight = 1 where id = ${id}`;
    deliver.clock.after(1_500, () => void deliver.outside(lower()));
    deliver.clock.after(4_500, () => deliver.name(id, "after"));
    await deliver.runUntil(deliver.kick());
    expect([deliver.mostOpen("before"), deliver.mostOpen("after")]).toEqual([8, 1]);
  });

  test("a crash of the database loses the leases of open requests → these deliveries are not sent a second time meanwhile", async () => {
    const deliver = makeDeliver({ request: () => 5_000 });
    await deliver.add("one", null, 4);
    const forget = () => db.sql`update keyframe_private.work set state = 'ready', worker_id = null, lease_token = null`;
    deliver.clock.after(1_000, () => void deliver.outside(forget()));
    await deliver.runUntil(deliver.kick());
    expect((await isRecorded()).size).toBe(4);
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  });

  test("requests that last until their timeout → each is sent once, and ends within the worker's time", async () => {
    const deliver = makeDeliver({ request: () => HANGS });
    await Promise.all(Array.from({ length: 40 }, () => deliver.add("", null, 10)));
    await deliver.runUntil(deliver.kick());
    expect(deliver.now()).toBeLessThan(L.maxRunMs + 2 * REQUEST_MS);
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  });
});

describe("a database call that fails", () => {
  test("a delivery whose record raises → later results go one by one: all others are recorded, and none is sent twice", async () => {
    const deliver = makeDeliver();
    const [one, two] = [await deliver.add("one", null, 6), await deliver.add("two", null, 20)];
    const bad = one.deliveries[2] ?? "";
    await withFailing(db.sql, "keyframe.webhook_deliveries", `new.id = '${bad}'`, () => deliver.runFor(8_000));
    expect(await isRecorded()).toEqual(new Set([...one.deliveries, ...two.deliveries].filter((id) => id !== bad)));
    const given = deliver.calls.map(({ results }) => results);
    expect(given.filter((results) => results.length > 1 && results.some(({ id }) => id === bad))).toHaveLength(1);
    expect(isSentOnce(deliver.startedAt)).toBe(true);
    const line = expect.objectContaining({ deliveryId: bad, reason: "P0001" });
    expect(deliver.lines("result_not_recorded")).toContainEqual(line);
    await deliver.sleepUntil(12_000);
    expect((await isRecorded()).has(bad)).toBe(true);
  });

  test("records of 40 deliveries raise for as long as they are tried → another endpoint's event is sent at once", async () => {
    const deliver = makeDeliver();
    const bad = await deliver.add("bad", null, 40, { ...QUICK, max_in_flight: 40 });
    const good = await deliver.add("good", null, 0, QUICK);
    await withFailing(db.sql, "keyframe.webhook_deliveries", `new.endpoint_id = '${bad.id}'`, async () => {
      await deliver.runFor(5_000);
      const { id, at } = await deliver.deliver(good.id);
      await deliver.sleepUntil(9_000);
      expect(deliver.startOf(id) - at).toBeLessThan(1_000);
    });
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  });

  test("a call that gives deliveries back fails → the next call does it, and they are sent without waiting for their lease", async () => {
    let fails = 0;
    const deliver = makeDeliver({
      request: (id) => (id === first ? { ms: 10, error: "timeout" } : 10),
      fault: ({ returned }) => {
        if (returned.length > 0 && fails++ === 0) throw new Error("away");
        return undefined;
      },
    });
    const { deliveries } = await deliver.add("one", null, 4, { ...QUICK, max_in_flight: 1 });
    const [first = ""] = deliveries;
    await deliver.runFor(2_000);
    expect(fails).toBeGreaterThan(1);
    expect([...deliver.startedAt.keys()]).toEqual(deliveries);
  });

  test("the answer of a claim is lost → the deliveries that it leased are sent after their lease, each once", async () => {
    let lost = 0;
    const deliver = makeDeliver({ fault: ({ at }) => (at > 10 && lost++ === 0 ? "lost" : undefined) });
    for (let i = 0; i < 4; i++) await deliver.add("", null, 20);
    await deliver.runUntil(deliver.kick());
    await deliver.sleepUntil(LEASE_MS + 1_000);
    await deliver.runUntil(deliver.kick());
    expect((await isRecorded()).size).toBe(80);
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  });

  test.each([1_000, 3_000])(
    "each database call takes %i ms → every delivery is sent once, only later; log and report say that the database is slow",
    async (ms) => {
      const deliver = makeDeliver({ callMs: () => ms });
      for (let i = 0; i < 20; i++) await deliver.add("", null, 4);
      for (let run = 0; run < 2; run++) await deliver.runUntil(deliver.kick());
      expect((await isRecorded()).size).toBe(80);
      expect(isSentOnce(deliver.startedAt)).toBe(true);
      expect(deliver.events()).toContain("database_slow");
      expect(deliver.calls.at(-1)?.report.callMs).toBe(ms);
    },
  );

  test("an attempt raises an internal fault → logged; it is made again after its lease, and the others go on", async () => {
    const deliver = makeDeliver({
      request: (_, endpoint) => {
        if (endpoint === "one") throw new Error("an internal fault");
        return 10;
      },
    });
    const [one, two] = [await deliver.add("one", null, 1), await deliver.add("two", null, 3)];
    await deliver.runUntil(deliver.kick());
    expect(deliver.events()).toEqual(["work_failed"]);
    expect(await isRecorded()).toEqual(new Set(two.deliveries));
    await deliver.sleepUntil(LEASE_MS + 100);
    await deliver.runUntil(deliver.kick());
    const [first = 0, again = 0] = deliver.startedAt.get(one.deliveries[0] ?? "") ?? [];
    expect(again - first).toBeGreaterThanOrEqual(LEASE_MS);
  });
});

test.each([
  ["its delivery", "update keyframe.webhook_deliveries set created_at = created_at where endpoint_id ="],
  ["its endpoint", "update keyframe.webhook_endpoints set description = 'x' where id ="],
])(
  "somebody locks %s when a result comes → recorded once the lock is free, sent once; other deliveries go on",
  async (what, update) => {
    const deliver = makeDeliver();
    const [one, two] = [await deliver.add("one", null, 1), await deliver.add("two", null, 20)];
    const connection = await db.sql.reserve();
    await connection`begin`;
    await connection.unsafe(`${update} '${one.id}'`);
    deliver.clock.after(1_500, () => void deliver.outside(connection`rollback`));
    await deliver.runUntil(deliver.kick());
    connection.release();
    expect(deliver.events().includes("result_not_recorded")).toBe(what === "its delivery");
    expect(await isRecorded()).toEqual(new Set([...one.deliveries, ...two.deliveries]));
    expect(isSentOnce(deliver.startedAt)).toBe(true);
  },
);
