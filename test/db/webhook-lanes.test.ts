import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import {
  addEndpoint,
  clearWebhooks,
  type Exchanged,
  exchange,
  heldLanes,
  type Leased,
  readDelivery,
  record,
  resultOf,
  seedDeliveries,
  tokenOf,
} from "../support/database/webhooks.ts";
import { untilSomebodyWaits } from "../support/database/waiting.ts";

const db = useDatabase();
beforeEach(() => clearWebhooks(db.sql));

const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000);
const addEndpoints = (count: number, columns: object = {}) =>
  Promise.all(Array.from({ length: count }, () => addEndpoint(db.sql, null, columns)));
const idsOf = (deliveries: { id: string }[]) => deliveries.map(({ id }) => id);
const delivered = (deliveries: Leased[]) => deliveries.map((each) => resultOf(each, { status_code: 200 }));
const perEndpoint = (deliveries: Leased[]) => {
  const counts = new Map<string, number>();
  for (const { endpoint_id } of deliveries) counts.set(endpoint_id, (counts.get(endpoint_id) ?? 0) + 1);
  return counts;
};
/** Records these as delivered and takes more, as the holder of all lanes of the answer. */
const goOn = (claimed: Exchanged, done: Leased[], more = true) => {
  const ids = new Set(idsOf(done));
  const held = heldLanes(claimed, { sending: (id) => !ids.has(id), more });
  return exchange(db.sql, { results: delivered(done), held });
};

describe("what a claim brings", () => {
  test("a due delivery → its lane's token, the number of the attempt, the event's id and body, the endpoint's address and secret", async () => {
    const endpoint = await addEndpoint(db.sql, null, { url: "https://crm.example/in" });
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const { recorded, lanes, ended } = await exchange(db.sql);
    const [event] = await db.sql`select id, payload::text as body from keyframe.webhook_events`;
    const [secret] = await db.sql`select keyframe_private.webhook_secret(${endpoint}) as text`;
    expect([recorded, ended]).toEqual([0, []]);
    expect(lanes).toEqual([
      {
        endpoint_id: endpoint,
        token: await tokenOf(db.sql, endpoint),
        owner_id: endpoint, // a service-wide endpoint is an owner of its own
        max_open: 8,
        url: "https://crm.example/in",
        secrets: [secret?.text],
        deliveries: [{ id, attempt: 1, event_id: event?.id, body: event?.body }],
      },
    ]);
  });

  test("many due → twice max_in_flight of them, those that have been due longest, in order", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 1 });
    const ids = new Map<number, string>();
    for (const seconds of [1, 30, 5, 20]) {
      ids.set(seconds, (await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: fromNow(-seconds) }))[0] ?? "");
    }
    expect(idsOf((await exchange(db.sql)).deliveries)).toEqual([ids.get(30), ids.get(20)]);
  });
});

describe("one worker has the lane of an endpoint", () => {
  test("while it is leased → nobody else gets a delivery of it; the holder gets more as it has room", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 100);
    const claimed = await exchange(db.sql);
    expect([claimed.deliveries.length, claimed.lanes[0]?.max_open]).toEqual([16, 8]);
    expect((await exchange(db.sql)).deliveries).toEqual([]);
    const next = await goOn(claimed, claimed.deliveries.slice(0, 3));
    expect([next.recorded, next.deliveries.length, next.lanes[0]?.token]).toEqual([3, 3, claimed.lanes[0]?.token]);
    expect(new Set([...idsOf(claimed.deliveries), ...idsOf(next.deliveries)]).size).toBe(19);
  });

  test("the holder takes no more → keeps its lane as long as it has deliveries, and then releases it", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 20);
    const claimed = await exchange(db.sql);
    const [first, ...others] = claimed.deliveries;
    expect((await goOn(claimed, first ? [first] : [], false)).lanes).toEqual([]);
    expect(await tokenOf(db.sql, endpoint)).toBe(claimed.lanes[0]?.token);
    await record(db.sql, delivered(others));
    expect(await tokenOf(db.sql, endpoint)).toBe(null);
    expect((await exchange(db.sql)).deliveries).toHaveLength(4);
  });

  test("a claim that is not committed yet → another does not wait for it, and leaves its lane alone", async () => {
    const [taken = "", free = ""] = await addEndpoints(2);
    await seedDeliveries(db.sql, taken, 20);
    await exchange(db.sql, { maxLanes: 1, leaseSeconds: 0 });
    await db.sql.begin(async (sql) => {
      expect((await exchange(sql)).deliveries.length).toBe(16);
      await seedDeliveries(db.sql, free, 3);
      const { deliveries } = await exchange(db.sql);
      expect(perEndpoint(deliveries)).toEqual(new Map([[free, 3]]));
    });
  });
});

test("two claims meet the same endpoints for the first time, each in another order → one waits for the other, and neither fails", async () => {
  const endpoints = await addEndpoints(3);
  const lock = (ids: string[]) =>
    db.sql<{ locked: string[] }[]>`select keyframe_private.lock_free_lanes(${ids}, now()) as locked`;
  const { waiting } = await db.sql.begin(async (sql) => {
    // Holds up both where they meet.
    await sql`insert into keyframe_private.lanes (endpoint_id) values (${endpoints.toSorted()[1] ?? ""})`;
    const claims = [endpoints.toSorted(), endpoints.toSorted().reverse()].map((ids) => lock(ids).execute());
    await untilSomebodyWaits(db.sql, 2);
    return { waiting: Promise.all(claims) };
  });
  expect((await waiting).map(([row]) => row?.locked.toSorted())).toEqual(Array(2).fill(endpoints.toSorted()));
});

describe("max_in_flight", () => {
  test("lowered while more are being sent → nothing more until enough have ended", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 4 });
    await seedDeliveries(db.sql, endpoint, 30);
    const claimed = await exchange(db.sql);
    expect(claimed.deliveries).toHaveLength(8);
    await db.sql`update keyframe.webhook_endpoints set max_in_flight = 2 where id = ${endpoint}`;
    expect((await goOn(claimed, claimed.deliveries.slice(0, 4))).deliveries).toEqual([]);
    const { deliveries, lanes } = await goOn(claimed, claimed.deliveries.slice(0, 5));
    expect([deliveries.length, lanes[0]?.max_open]).toEqual([1, 2]);
  });

  test("an endpoint that only fails → one request at a time; its first success → as many as before", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 100);
    const claimed = await exchange(db.sql);
    const failed = claimed.deliveries.slice(0, 1).map((each) => resultOf(each, { error: "timeout" }));
    await record(db.sql, failed);
    const probe = await exchange(db.sql);
    expect([probe.deliveries.length, probe.lanes[0]?.max_open]).toEqual([2, 1]);
    const next = await goOn(probe, probe.deliveries.slice(0, 1));
    expect([next.deliveries.length, next.lanes[0]?.max_open]).toEqual([15, 8]);
  });
});

describe("a lease", () => {
  test("that holds → nobody else gets the lane; expired → it is taken over under a new token, its deliveries as the same attempt", async () => {
    const [id] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const at = new Date();
    const first = await exchange(db.sql, { leaseSeconds: 60, at });
    expect((await exchange(db.sql, { at: new Date(at.getTime() + 59_999) })).deliveries).toEqual([]);
    const second = await exchange(db.sql, { at: new Date(at.getTime() + 60_000) });
    expect(second.deliveries).toMatchObject([{ id, attempt: 1 }]);
    expect(second.lanes[0]?.token).not.toBe(first.lanes[0]?.token);
  });

  test("of a lane that the holder names in its calls → is renewed, also when it has expired and nobody has taken the lane", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const claimed = await exchange(db.sql, { leaseSeconds: 60 });
    for (const seconds of [50, 100, 170]) {
      const { ended } = await exchange(db.sql, { held: heldLanes(claimed), leaseSeconds: 60, at: fromNow(seconds) });
      expect(ended).toEqual([]);
      expect((await exchange(db.sql, { at: fromNow(seconds + 55) })).deliveries).toEqual([]);
    }
  });

  test("renewed every moment → is written when a quarter of it has passed", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 1);
    const claimed = await exchange(db.sql, { leaseSeconds: 60 });
    const version = async (seconds: number) => {
      await exchange(db.sql, { held: heldLanes(claimed), leaseSeconds: 60, at: fromNow(seconds) });
      return (await db.sql`select ctid::text from keyframe_private.lanes where endpoint_id = ${endpoint}`)[0]?.ctid;
    };
    const [first, second, third] = [await version(1), await version(14), await version(16)];
    expect([second === first, third === second]).toEqual([true, false]);
  });

  test("of a worker that another has replaced → its call is told that the lane has ended, and its result does not count", async () => {
    const [id = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const stale = await exchange(db.sql, { leaseSeconds: 60 });
    const holder = await exchange(db.sql, { at: fromNow(61) });
    const late = await goOn(stale, stale.deliveries);
    expect([late.recorded, late.ended, late.lanes]).toEqual([0, [stale.lanes[0]?.endpoint_id], []]);
    expect(await readDelivery(db.sql, id)).toMatchObject({ status: "pending", attempts: 0 });
    expect((await record(db.sql, delivered(holder.deliveries))).recorded).toBe(1);
  });

  test("of a worker that another is replacing at this moment → neither waits", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const stale = await exchange(db.sql, { leaseSeconds: 0 });
    await db.sql.begin(async (sql) => {
      expect((await exchange(sql, { at: fromNow(1) })).lanes).toHaveLength(1);
      await db.sql.begin(async (other) => {
        await other`set local lock_timeout = '2 s'`;
        expect((await exchange(other, { held: heldLanes(stale) })).ended).toHaveLength(1);
      });
    });
  });
});

describe("10 workers at once", () => {
  /** Each on a connection of its own, sending what it gets until nothing comes. */
  async function sendAll(workers: number, maxLanes: number): Promise<string[]> {
    const holders = new Map<string, number>();
    const all = await Promise.all(
      Array.from({ length: workers }, async (_, worker) => {
        const ids: string[] = [];
        let claimed: Exchanged = { recorded: 0, lanes: [], ended: [], deliveries: [] };
        const connection = await db.sql.reserve();
        try {
          for (let idle = 0; idle < 3; idle = claimed.deliveries.length === 0 ? idle + 1 : 0) {
            for (const { endpoint_id } of claimed.lanes) holders.delete(endpoint_id);
            claimed = await exchange(connection, {
              ...{ results: delivered(claimed.deliveries), maxLanes },
              held: heldLanes(claimed, { sending: () => false, more: false }),
            });
            for (const { endpoint_id } of claimed.lanes) {
              expect(holders.get(endpoint_id)).toBe(undefined);
              holders.set(endpoint_id, worker);
            }
            ids.push(...idsOf(claimed.deliveries));
          }
        } finally {
          connection.release();
        }
        return ids;
      }),
    );
    return all.flat();
  }

  test.each([
    ["one endpoint of 60", 1, 60, 100],
    ["6 endpoints of 20", 6, 20, 2],
  ])(
    "over %s → each delivery once, by one worker at a time, each attempt logged once",
    async (_what, count, each, maxLanes) => {
      for (const endpoint of await addEndpoints(count)) await seedDeliveries(db.sql, endpoint, each);
      const ids = [...(await sendAll(10, maxLanes)), ...(await sendAll(1, 100))];
      expect([ids.length, new Set(ids).size]).toEqual([count * each, count * each]);
      const [row] =
        await db.sql`select count(*)::int as attempts, max(attempt) as highest from keyframe.webhook_attempts`;
      expect(row).toEqual({ attempts: count * each, highest: 1 });
    },
  );

  test("all at the same moment, recording nothing → one of them gets the lane, the others nothing", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 50);
    const got = await Promise.all(Array.from({ length: 10 }, () => exchange(db.sql)));
    expect(got.map(({ deliveries }) => deliveries.length).sort()).toEqual([...Array(9).fill(0), 16]);
  });
});

describe("fairness", () => {
  test("an owner with 20 endpoints, others with one → a claim of four lanes has one of each owner first", async () => {
    const owners = await Promise.all(Array.from({ length: 4 }, () => db.addUser()));
    const [greedy = "", ...others] = owners;
    for (let i = 0; i < 20; i++) await seedDeliveries(db.sql, await addEndpoint(db.sql, greedy), 1);
    for (const owner of others) await seedDeliveries(db.sql, await addEndpoint(db.sql, owner), 1);
    for (let turn = 0; turn < 5; turn++) {
      const { lanes } = await exchange(db.sql, { maxLanes: 4, leaseSeconds: 0 });
      expect(lanes.map(({ owner_id }) => owner_id).sort()).toEqual([...owners].sort());
    }
  });

  test("an owner holds as many lanes as are left → gets no more of them; the owner with none gets one", async () => {
    const [greedy, modest] = [await db.addUser(), await db.addUser()];
    for (let i = 0; i < 9; i++) await seedDeliveries(db.sql, await addEndpoint(db.sql, greedy), 1);
    expect((await exchange(db.sql, { maxLanes: 10 })).lanes).toHaveLength(9);
    const endpoint = await addEndpoint(db.sql, greedy);
    await seedDeliveries(db.sql, endpoint, 1);
    expect((await exchange(db.sql, { maxLanes: 9 })).lanes).toEqual([]);
    await seedDeliveries(db.sql, await addEndpoint(db.sql, modest), 1);
    expect((await exchange(db.sql, { maxLanes: 1 })).lanes.map(({ owner_id }) => owner_id)).toEqual([modest]);
    expect((await exchange(db.sql, { maxLanes: 10 })).lanes).toMatchObject([{ endpoint_id: endpoint }]);
  });

  test("room for one lane → every one of four gets its turn: the walk begins somewhere else each time", async () => {
    // A quarter of all identifiers lies before each of them.
    const endpoints = ["1", "5", "9", "d"].map((digit) => `${digit}0000000-0000-4000-8000-000000000000`);
    for (const id of endpoints) await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { id }), 8);
    const first = new Set<string>();
    // That a hundred starts miss one of the four has a chance below 1 in 10^12.
    for (let turn = 0; turn < 100 && first.size < 4; turn++) {
      const { lanes } = await exchange(db.sql, { maxLanes: 1, leaseSeconds: 0 });
      for (const { endpoint_id } of lanes) first.add(endpoint_id);
    }
    expect([...first].sort()).toEqual(endpoints);
  });
});

test.each([
  ["disabled", (id: string) => db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${id}`],
  ["deleted", (id: string) => db.sql`delete from keyframe.webhook_endpoints where id = ${id}`],
])(
  "an endpoint is %s while its deliveries are with a worker → the next call says that it has ended, and results count",
  async (_, end) => {
    const [endpoint = ""] = await addEndpoints(1);
    await seedDeliveries(db.sql, endpoint, 30);
    const claimed = await exchange(db.sql);
    await end(endpoint);
    const { ended, lanes, recorded } = await goOn(claimed, claimed.deliveries.slice(0, 1));
    expect([ended, lanes, recorded]).toEqual([[endpoint], [], 1]);
    expect(await tokenOf(db.sql, endpoint)).toBe(claimed.lanes[0]?.token);
  },
);

test("lanes used again and again → one row for each endpoint; a deleted endpoint's goes with its deliveries", async () => {
  const [endpoint = ""] = await addEndpoints(1, { max_in_flight: 1 });
  const other = await addEndpoint(db.sql, null);
  for (const id of [endpoint, other]) await seedDeliveries(db.sql, id, 5);
  for (let claimed = await exchange(db.sql); claimed.deliveries.length > 0; claimed = await exchange(db.sql))
    await record(db.sql, delivered(claimed.deliveries));
  const lanes = () => db.sql`select endpoint_id, token, held from keyframe_private.lanes order by endpoint_id`;
  expect([...(await lanes())]).toEqual(
    [endpoint, other].sort().map((endpoint_id) => ({ endpoint_id, token: null, held: 0 })),
  );
  await db.sql`delete from keyframe.webhook_endpoints where id = ${endpoint}`;
  await db.sql`select keyframe_private.prune_webhooks()`;
  expect([...(await lanes())]).toMatchObject([{ endpoint_id: other }]);
});
