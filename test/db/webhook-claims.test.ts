import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ClonedDatabase, cloneDatabase } from "../support/clone-database.ts";
import {
  addEndpoint,
  clearWebhooks,
  exchange,
  type Leased,
  leaseOf,
  resultOf,
  seedDeliveries,
} from "../support/db-webhooks.ts";

let db: ClonedDatabase;
beforeAll(async () => {
  db = await cloneDatabase();
});
beforeEach(() => clearWebhooks(db.sql));
afterAll(() => db.drop());

const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000);
const addEndpoints = (count: number, columns: object = {}) =>
  Promise.all(Array.from({ length: count }, () => addEndpoint(db.sql, null, columns)));
const idsOf = (deliveries: Leased[]) => deliveries.map(({ id }) => id).sort();
const perEndpoint = (deliveries: Leased[]) => {
  const counts = new Map<string, number>();
  for (const { endpoint_id } of deliveries) counts.set(endpoint_id, (counts.get(endpoint_id) ?? 0) + 1);
  return counts;
};

describe("what a claim brings", () => {
  test("a due delivery → its lease, the number of the attempt, the event's id and body, the endpoint's address and secret", async () => {
    const endpoint = await addEndpoint(db.sql, null, { url: "https://crm.example/in" });
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const { recorded, deliveries, endpoints } = await exchange(db.sql);
    const [event] = await db.sql`select id, payload::text as body from keyframe.webhook_events`;
    const lease_token = await leaseOf(db.sql, id);
    expect(recorded).toBe(0);
    expect(deliveries).toEqual([
      { id, lease_token, attempt: 1, endpoint_id: endpoint, event_id: event?.id, body: event?.body },
    ]);
    const [secret] = await db.sql`select keyframe_private.webhook_secret(${endpoint}) as text`;
    expect(endpoints).toEqual({ [endpoint]: { url: "https://crm.example/in", secrets: [secret?.text] } });
  });

  test("nothing due → nothing, not even an endpoint's secret", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: fromNow(60) });
    await seedDeliveries(db.sql, endpoint, 1, { status: "delivered", completed_at: new Date() });
    await seedDeliveries(db.sql, endpoint, 1, { status: "exhausted", completed_at: new Date() });
    expect(await exchange(db.sql)).toEqual({ recorded: 0, deliveries: [], endpoints: {} });
  });

  test("more due than asked for → what has been due longest, and no more", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    const ids: string[] = [];
    for (const seconds of [-1, -30, -20]) {
      ids.push(...(await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: fromNow(seconds) })));
    }
    const { deliveries } = await exchange(db.sql, { maxRows: 2 });
    expect(idsOf(deliveries)).toEqual([ids[1], ids[2]].sort());
  });

  test("a limit of 0 → results are recorded, nothing is claimed", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const { deliveries } = await exchange(db.sql);
    const results = deliveries.map((delivery) => resultOf(delivery, { status_code: 200 }));
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    expect(await exchange(db.sql, { results, maxRows: 0 })).toEqual({ recorded: 1, deliveries: [], endpoints: {} });
  });
});

describe("the cap of an endpoint", () => {
  test("100 due → as many as max_in_flight, however many claims", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 100);
    expect((await exchange(db.sql)).deliveries.length).toBe(8);
    expect((await exchange(db.sql)).deliveries).toEqual([]);
  });

  test("three results come in → three more go out", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 100);
    const { deliveries } = await exchange(db.sql);
    const results = deliveries.slice(0, 3).map((delivery) => resultOf(delivery, { status_code: 204 }));
    const next = await exchange(db.sql, { results });
    expect([next.recorded, next.deliveries.length]).toEqual([3, 3]);
  });

  test("set to 1 and to 100 → one at a time, all at once", async () => {
    const [narrow, wide] = [
      await addEndpoint(db.sql, null, { max_in_flight: 1 }),
      await addEndpoint(db.sql, null, { max_in_flight: 100 }),
    ];
    for (const endpoint of [narrow, wide]) await seedDeliveries(db.sql, endpoint, 100);
    const counts = perEndpoint((await exchange(db.sql, { maxRows: 500 })).deliveries);
    expect([counts.get(narrow), counts.get(wide)]).toEqual([1, 100]);
  });

  test("while it does nothing but fail → one slot, so that many that hang cannot take them all; a success → as many as before", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 100);
    const { deliveries } = await exchange(db.sql);
    const [last, ...others] = deliveries.map((held) => resultOf(held, { error: "timeout" }));
    expect((await exchange(db.sql, { results: others })).deliveries).toEqual([]);
    const probe = await exchange(db.sql, { results: last ? [last] : [] });
    expect(probe.deliveries.length).toBe(1);
    expect((await exchange(db.sql)).deliveries).toEqual([]);
    const results = probe.deliveries.map((held) => resultOf(held, { status_code: 200 }));
    expect((await exchange(db.sql, { results })).deliveries.length).toBe(8);
  });
});

describe("a lease", () => {
  test("that holds → no other worker gets the delivery", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const at = new Date();
    expect((await exchange(db.sql, { leaseSeconds: 60, at })).deliveries.length).toBe(1);
    expect((await exchange(db.sql, { at: new Date(at.getTime() + 59_999) })).deliveries).toEqual([]);
  });

  test("that ran out → the delivery is handed out again under a new one, as the same attempt", async () => {
    const [id] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const at = new Date();
    const [first] = (await exchange(db.sql, { leaseSeconds: 60, at })).deliveries;
    const [second] = (await exchange(db.sql, { at: new Date(at.getTime() + 60_000) })).deliveries;
    expect(second).toMatchObject({ id, attempt: 1 });
    expect(second?.lease_token).not.toBe(first?.lease_token);
  });

  test("of a worker that died with all slots of an endpoint → they are free again when it ran out", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 20);
    const lost = (await exchange(db.sql, { leaseSeconds: 30 })).deliveries;
    expect((await exchange(db.sql, { at: fromNow(29) })).deliveries).toEqual([]);
    const again = (await exchange(db.sql, { at: fromNow(31) })).deliveries;
    expect([lost.length, again.length]).toEqual([8, 8]);
  });
});

describe("10 exchanges at once", () => {
  /** Each on a connection of its own, recording what it got and claiming again until nothing comes. */
  async function drain(workers: number, maxRows: number): Promise<{ ids: string[]; maxAtOnce: number }> {
    const inFlight = new Map<string, number>();
    let maxAtOnce = 0;
    const count = (deliveries: Leased[], by: number) => {
      for (const { endpoint_id } of deliveries) {
        const now = (inFlight.get(endpoint_id) ?? 0) + by;
        inFlight.set(endpoint_id, now);
        maxAtOnce = Math.max(maxAtOnce, now);
      }
    };
    const all = await Promise.all(
      Array.from({ length: workers }, async () => {
        const ids: string[] = [];
        let held: Leased[] = [];
        let idle = 0;
        const connection = await db.sql.reserve();
        try {
          while (idle < 3) {
            const results = held.map((delivery) => resultOf(delivery, { status_code: 200 }));
            count(held, -1);
            held = (await exchange(connection, { results, maxRows })).deliveries;
            count(held, 1);
            ids.push(...held.map(({ id }) => id));
            idle = held.length === 0 ? idle + 1 : 0;
          }
        } finally {
          connection.release();
        }
        return ids;
      }),
    );
    return { ids: all.flat(), maxAtOnce };
  }

  test("over one endpoint of 60 → each delivery once, never more than 8 under way", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 60);
    const { ids, maxAtOnce } = await drain(10, 100);
    // A worker that found the lane taken may have ended early; the next claim returns what it left.
    const rest = (await drain(1, 100)).ids;
    expect([...ids, ...rest].length).toBe(60);
    expect(new Set([...ids, ...rest]).size).toBe(60);
    expect(maxAtOnce).toBeLessThanOrEqual(8);
  });

  test("over 6 endpoints of 20 → each delivery once, none over its cap, each attempt logged once", async () => {
    for (const endpoint of await addEndpoints(6, { max_in_flight: 4 })) await seedDeliveries(db.sql, endpoint, 20);
    const { ids, maxAtOnce } = await drain(10, 10);
    const rest = (await drain(1, 100)).ids;
    expect(new Set([...ids, ...rest]).size).toBe(120);
    expect([...ids, ...rest].length).toBe(120);
    expect(maxAtOnce).toBeLessThanOrEqual(4);
    const [row] =
      await db.sql`select count(*)::int as attempts, max(attempt) as highest from keyframe.webhook_attempts`;
    expect(row).toEqual({ attempts: 120, highest: 1 });
  });

  test("all at the same moment, recording nothing → one of them fills the cap, the others get nothing", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 50);
    const got = await Promise.all(Array.from({ length: 10 }, () => exchange(db.sql)));
    const deliveries = got.flatMap((answer) => answer.deliveries);
    expect(deliveries.length).toBe(8);
    expect(new Set(idsOf(deliveries)).size).toBe(8);
  });

  test("a claim that is not committed yet → another does not wait for it, and leaves its endpoint alone", async () => {
    const [taken = "", free = ""] = await addEndpoints(2);
    await seedDeliveries(db.sql, taken, 20);
    await db.sql.begin(async (sql) => {
      expect((await exchange(sql)).deliveries.length).toBe(8);
      await seedDeliveries(db.sql, free, 3);
      const { deliveries } = await exchange(db.sql);
      expect(perEndpoint(deliveries)).toEqual(new Map([[free, 3]]));
    });
  });
});

describe("fairness", () => {
  test("20 endpoints with 100 due each → every one of them is in the first claim of 160", async () => {
    const endpoints = await addEndpoints(20);
    for (const endpoint of endpoints) await seedDeliveries(db.sql, endpoint, 100);
    const { deliveries } = await exchange(db.sql, { maxRows: 160 });
    expect(perEndpoint(deliveries)).toEqual(new Map(deliveries.map(({ endpoint_id }) => [endpoint_id, 8])));
    expect([...perEndpoint(deliveries).keys()].sort()).toEqual([...endpoints].sort());
  });

  test("an endpoint with 3,000 due → another's single delivery is in the very next claim", async () => {
    const [flood = "", quiet = ""] = await addEndpoints(2);
    await seedDeliveries(db.sql, flood, 3000, { next_attempt_at: fromNow(-3600) });
    await seedDeliveries(db.sql, quiet, 1);
    expect(perEndpoint((await exchange(db.sql, { maxRows: 16 })).deliveries)).toEqual(
      new Map([
        [flood, 8],
        [quiet, 1],
      ]),
    );
  });

  test("an endpoint that hangs with its slots full → costs the others none of a claim", async () => {
    const [hanging = "", healthy = ""] = await addEndpoints(2);
    await seedDeliveries(db.sql, hanging, 100, { next_attempt_at: fromNow(-3600) });
    await exchange(db.sql, { leaseSeconds: 600 });
    await seedDeliveries(db.sql, healthy, 8);
    expect(perEndpoint((await exchange(db.sql, { maxRows: 8 })).deliveries)).toEqual(new Map([[healthy, 8]]));
  });

  test("room for one endpoint only → every one of four gets its turn: the walk begins somewhere else each time", async () => {
    // A quarter of all identifiers lies before each of them.
    const endpoints = ["1", "5", "9", "d"].map((digit) => `${digit}0000000-0000-4000-8000-000000000000`);
    for (const id of endpoints) await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { id }), 8);
    const first = new Set<string>();
    // That a hundred starts miss one of the four has a chance below 1 in 10^12.
    for (let turn = 0; turn < 100 && first.size < 4; turn++) {
      const [delivery] = (await exchange(db.sql, { maxRows: 1 })).deliveries;
      if (delivery) first.add(delivery.endpoint_id);
      await db.sql`truncate keyframe_private.delivery_leases`;
    }
    expect([...first].sort()).toEqual(endpoints);
  });

  test("wherever the walk begins → it goes round once, finds each endpoint with something due, and none twice", async () => {
    const endpoints = (await addEndpoints(5)).sort();
    for (const endpoint of endpoints) await seedDeliveries(db.sql, endpoint, 2);
    const starts = [...endpoints, "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"];
    for (const begin of starts) {
      const rows = await db.sql<
        { id: string }[]
      >`select keyframe_private.endpoints_with_due(${begin}, 100, now()) as id`;
      const falling = endpoints.toReversed();
      expect(rows.map(({ id }) => id)).toEqual([
        ...falling.filter((id) => id < begin),
        ...falling.filter((id) => id >= begin),
      ]);
    }
    const [two] =
      await db.sql`select count(*)::int as found from keyframe_private.endpoints_with_due(${endpoints[3] ?? ""}, 2, now())`;
    expect(two?.found).toBe(2);
  });
});

describe("a disabled endpoint", () => {
  test("→ is passed over, and takes no slot from others", async () => {
    const [off = "", on = ""] = await addEndpoints(2);
    await seedDeliveries(db.sql, off, 50, { next_attempt_at: fromNow(-3600) });
    await seedDeliveries(db.sql, on, 2);
    await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${off}`;
    expect(perEndpoint((await exchange(db.sql, { maxRows: 8 })).deliveries)).toEqual(new Map([[on, 2]]));
  });

  test("enabled again → what waited is due at once", async () => {
    const [off = ""] = await addEndpoints(1, { enabled: false });
    await seedDeliveries(db.sql, off, 2);
    expect((await exchange(db.sql)).deliveries).toEqual([]);
    await db.sql`update keyframe.webhook_endpoints set enabled = true where id = ${off}`;
    expect((await exchange(db.sql)).deliveries.length).toBe(2);
  });
});

test("the heartbeat of deliver → is recorded by a claim, and cleared by a final claim", async () => {
  const looking = async () => {
    const [row] = await db.sql`
      select alive_until > clock_timestamp() as looking from keyframe_private.worker_heartbeats where function_name = 'deliver'`;
    return row?.looking;
  };
  await exchange(db.sql, { heartbeatMs: 5_000 });
  expect(await looking()).toBe(true);
  await exchange(db.sql, { heartbeatMs: 0 });
  expect(await looking()).toBe(false);
});

describe("the slots of an endpoint", () => {
  const slots = () =>
    db.sql<{ slot: number; delivery_id: string | null }[]>`
      select slot, delivery_id from keyframe_private.delivery_leases order by endpoint_id, slot`;

  test("used again and again → as many rows as slots, all free in the end", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { max_in_flight: 3 }), 20);
    let sent = 0;
    for (let results: object[] = []; ; ) {
      const { deliveries } = await exchange(db.sql, { results });
      if (deliveries.length === 0) break;
      sent += deliveries.length;
      // Not all at once, so that slots are given out of turn.
      results = deliveries.toReversed().map((held) => resultOf(held, { status_code: 200 }));
    }
    expect(sent).toBe(20);
    expect([...(await slots())]).toEqual([1, 2, 3].map((slot) => ({ slot, delivery_id: null })));
  });

  test("one free between two taken → is the one that is given", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null, { max_in_flight: 3 }), 4);
    const { deliveries } = await exchange(db.sql);
    const [, second] = [...(await slots())];
    const held = deliveries.find(({ id }) => id === second?.delivery_id);
    if (!held) throw new Error("Nobody is in the second slot.");
    const [next] = (await exchange(db.sql, { results: [resultOf(held, { status_code: 200 })] })).deliveries;
    expect((await slots())[1]).toEqual({ slot: 2, delivery_id: next?.id });
  });

  test("fewer are allowed while more are under way → nothing until enough have ended", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 4 });
    await seedDeliveries(db.sql, endpoint, 10);
    const { deliveries } = await exchange(db.sql);
    await db.sql`update keyframe.webhook_endpoints set max_in_flight = 2 where id = ${endpoint}`;
    const end = (count: number) =>
      exchange(db.sql, { results: deliveries.splice(0, count).map((held) => resultOf(held, { status_code: 200 })) });
    expect((await end(2)).deliveries).toEqual([]);
    expect((await end(1)).deliveries).toHaveLength(1);
  });

  test("a lease that ran out, its delivery now in another slot → the old token is worth nothing, wherever it stood", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 2 });
    const [late = ""] = await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: fromNow(-5) });
    await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: fromNow(-10) });
    const { deliveries } = await exchange(db.sql, { leaseSeconds: 10 });
    const stale = deliveries.find(({ id }) => id === late);
    const quick = deliveries.find(({ id }) => id !== late);
    if (!stale || !quick) throw new Error("Two were to be sent.");
    await exchange(db.sql, { results: [resultOf(quick, { status_code: 200 })], maxRows: 0 });
    const [again] = (await exchange(db.sql, { at: fromNow(20) })).deliveries;
    expect(again?.id).toBe(late);
    expect((await exchange(db.sql, { results: [resultOf(stale)], maxRows: 0 })).recorded).toBe(0);
    expect(await leaseOf(db.sql, late)).toBe(again?.lease_token);
  });

  test("the endpoint is deleted → pruned an hour later; those of others stay", async () => {
    const [gone = "", other = ""] = await addEndpoints(2);
    for (const endpoint of [gone, other]) await seedDeliveries(db.sql, endpoint, 2);
    await exchange(db.sql);
    await db.sql`delete from keyframe.webhook_endpoints where id = ${gone}`;
    const left = async () => {
      await db.sql`select keyframe_private.prune_webhooks()`;
      return (await slots()).length;
    };
    expect(await left()).toBe(4);
    await db.sql`update keyframe_private.delivery_leases set leased_until = now() - interval '61 minutes'`;
    expect(await left()).toBe(2);
  });
});
