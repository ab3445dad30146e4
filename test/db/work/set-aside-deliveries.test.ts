import type postgres from "postgres";
import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { letTimePass as tryAsides, readAsides, withFailing as failing } from "../../support/database/failing.ts";
import {
  addEndpoint,
  clearWebhooks,
  exchange,
  leasedLanes,
  readDelivery,
  readLane,
  resultOf,
  seedDeliveries,
} from "../../support/database/webhooks.ts";

// A lane or a delivery that raises when it is written, as by an app's trigger, is set aside: other owners' events are delivered and recorded.

const db = useDatabase();
let bad: string;
let endpoint: string;
let good: string;
beforeEach(async () => {
  await clearWebhooks(db.sql);
  await emptyTables(db.sql, "keyframe_private.set_aside");
  [bad, good] = [await db.addUser(), await db.addUser()];
  endpoint = await addEndpoint(db.sql, bad);
  await addEndpoint(db.sql, good);
});

const seedBoth = async () => {
  const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
  const [other] = await db.sql`select id from keyframe.webhook_endpoints where owner_id = ${good}`;
  const [otherId = ""] = await seedDeliveries(db.sql, other?.id, 1);
  return { id, other: otherId };
};
const asides = () => readAsides(db.sql);
const letTimePass = () => tryAsides(db.sql);
const isDue = async () => (await db.sql`select keyframe_private.has_due_delivery(clock_timestamp()) as is`)[0]?.is;

const withFailing = <T>(table: string, condition: string, work: () => Promise<T>, does?: string) =>
  failing(db.sql, table, condition, work, does);
const LANES = "keyframe_private.lanes";
const DELIVERIES = "keyframe.webhook_deliveries";

test("an arrival that a trigger does not let go → both owners' deliveries are handed out", async () => {
  const { id, other } = await seedBoth();
  await db.sql.unsafe(`
    create function public.keep_arrival() returns trigger language plpgsql as $$ begin raise 'It cannot be deleted.'; end $$;
    create trigger _050_keep before delete on keyframe_private.lane_arrivals for each row when (old.lane_id = '${bad}') execute function public.keep_arrival()`);
  try {
    const { deliveries } = await exchange(db.sql);
    expect(deliveries.map((delivery) => delivery.id).toSorted()).toEqual([id, other].toSorted());
  } finally {
    await db.sql`drop function public.keep_arrival cascade`;
  }
});

describe("a lane that raises", () => {
  test.each([
    ["when it is added", "true"],
    ["when something arrives for it", "new.due_at < 'infinity' and new.token is null"],
    ["when it is taken", "new.token is not null"],
  ])("%s → the other owner's is taken, and this one once the cause has ended", async (_when, condition) => {
    const { id, other } = await seedBoth();
    await withFailing(LANES, `new.id = '${bad}' and ${condition}`, async () => {
      expect((await exchange(db.sql)).deliveries.map((delivery) => delivery.id)).toEqual([other]);
      expect(await asides()).toMatchObject([{ kind: "lane", subject: bad, code: "P0001", failures: 1 }]);
      expect([await isDue(), (await exchange(db.sql)).deliveries]).toEqual([false, []]);
    });
    await letTimePass();
    expect(await isDue()).toBe(true);
    expect((await exchange(db.sql)).deliveries.map((delivery) => delivery.id)).toEqual([id]);
    expect(await asides()).toEqual([]);
  });

  test("when its lease is renewed → the worker keeps its other lanes, not this one, which it may keep later", async () => {
    await seedBoth();
    const claimed = await exchange(db.sql, { leaseSeconds: 10 });
    const later = new Date(Date.now() + 8_000);
    const renew = () => exchange(db.sql, { leased: leasedLanes(claimed), leaseSeconds: 10, at: later });
    await withFailing(LANES, `new.id = '${bad}'`, async () => {
      const { kept, lost } = await renew();
      expect([kept, lost]).toEqual([[good], []]);
    });
    expect(await asides()).toMatchObject([{ kind: "lane", subject: bad }]);
    await letTimePass();
    expect((await renew()).kept?.toSorted()).toEqual([bad, good].toSorted());
  });

  test("when it is given back → the others are given back; it is free when its lease has ended", async () => {
    await seedBoth();
    const claimed = await exchange(db.sql);
    const leased = leasedLanes(claimed, { sending: () => false, more: false });
    await withFailing(LANES, `new.id = '${bad}' and new.token is null`, async () => {
      expect((await exchange(db.sql, { leased, maxLanes: 0 })).lost).toEqual([good]);
    });
    expect(await readLane(db.sql, bad)).toMatchObject({ token: expect.any(String) });
    await letTimePass();
    expect((await exchange(db.sql, { leased, maxLanes: 0 })).lost.toSorted()).toEqual([bad, good].toSorted());
  });
});

test("1,000 arrivals of a lane that is set aside → no call looks it up for each of them", async () => {
  const { other } = await seedBoth();
  await db.sql`
    insert into keyframe_private.set_aside (kind, subject, code, reason, next_try_at)
    values ('lane', ${bad}, 'P0001', 'r', now() + interval '1 hour')`;
  await db.sql`insert into keyframe_private.lane_arrivals (lane_id) select ${bad} from generate_series(1, 1000)`;
  const lookups = await db.sql.begin(async (sql) => {
    await sql`set local track_functions = 'all'`;
    expect((await exchange(sql)).deliveries.map(({ id }) => id)).toEqual([other]);
    await sql`select keyframe_private.has_due_delivery(clock_timestamp())`;
    const [row] = await sql`
      select coalesce(sum(calls), 0)::int as calls from pg_stat_xact_user_functions where funcname ~ 'aside'`;
    return row?.calls;
  });
  expect(lookups).toBeLessThan(20);
});

describe("a delivery whose attempt cannot be recorded", () => {
  const claimAll = async (count: number) => {
    const ids = await seedDeliveries(db.sql, endpoint, count);
    const { deliveries } = await exchange(db.sql);
    return { ids, results: deliveries.map((delivery) => resultOf(delivery, { status_code: 200, error: null })) };
  };

  test("→ the other results of its endpoint are recorded; it is set aside, and recorded once the cause has ended", async () => {
    const { ids, results } = await claimAll(5);
    const id = ids[2] ?? "";
    await withFailing(DELIVERIES, `new.id = '${id}'`, async () => {
      expect(await exchange(db.sql, { results, maxLanes: 0 })).toMatchObject({
        recorded: 4,
        unrecorded: [{ id, endpoint_id: endpoint, reason: "P0001" }],
      });
      expect(await asides()).toMatchObject([{ kind: "delivery", subject: id, code: "P0001", failures: 1 }]);
    });
    const again = { results: results.filter((result) => result.id === id), maxLanes: 0 };
    expect(await exchange(db.sql, again)).toMatchObject({ recorded: 0, unrecorded: [{ id }] });
    await letTimePass();
    expect((await exchange(db.sql, again)).recorded).toBe(1);
    expect([(await readDelivery(db.sql, id)).status, await asides()]).toEqual(["delivered", []]);
  });
});

describe("a trigger that sleeps for longer than a call may take", () => {
  const SLEEPS = "perform pg_sleep(60)";
  beforeEach(() => db.sql.unsafe("alter function keyframe_worker.exchange_deliveries set statement_timeout = '1s'"));

  /** exchange_deliveries' answer, or the SQLSTATE of its failed claim. */
  const call = async (args: object, oneByOne: boolean) =>
    (
      await db.sql.begin(async (sql: postgres.TransactionSql) => {
        await sql`set local statement_timeout = '1s'`;
        const value = await exchange(sql, { ...args, oneByOne }).catch((error) => {
          if (error.code) throw error;
          return String(error);
        });
        return { value };
      })
    ).value;

  test("on a lane → the claim fails, what it has recorded stays; the next one, one by one, brings the other owner's", async () => {
    const [first = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const results = (await exchange(db.sql, { leaseSeconds: 0 })).deliveries.map((each) =>
      resultOf(each, { status_code: 200, error: null }),
    );
    const { other } = await seedBoth();
    await withFailing(
      LANES,
      `new.id = '${bad}'`,
      async () => {
        expect(await call({ results }, false)).toMatch("57014");
        expect((await readDelivery(db.sql, first)).status).toBe("delivered");
        expect(await call({}, true)).toMatchObject({ deliveries: [{ id: other }] });
        expect(await asides()).toMatchObject([{ kind: "lane", subject: bad, code: "57014" }]);
        expect(await call({}, false)).toMatchObject({ deliveries: [] });
      },
      SLEEPS,
    );
  });

  test("on a delivery → its result is set aside when results are recorded one by one, and the others are recorded", async () => {
    const [slow = "", ...others] = await seedDeliveries(db.sql, endpoint, 3);
    const results = (await exchange(db.sql)).deliveries.map((each) =>
      resultOf(each, { status_code: 200, error: null }),
    );
    await withFailing(
      DELIVERIES,
      `new.id = '${slow}'`,
      async () => {
        await expect(call({ results, maxLanes: 0 }, false)).rejects.toMatchObject({ code: "57014" });
        for (let calls = 0; calls < 2; calls++) await call({ results, maxLanes: 0 }, true).catch(() => undefined);
        expect(await asides()).toMatchObject([{ kind: "delivery", subject: slow, code: "57014" }]);
        for (const id of others) expect((await readDelivery(db.sql, id)).status).toBe("delivered");
      },
      SLEEPS,
    );
  });
});
