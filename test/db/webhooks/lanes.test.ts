import { beforeEach, describe, expect, test } from "vitest";
import type { LeasedLane } from "../../../supabase/functions/keyframe-deliver/lanes/database.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { until } from "../../support/until.ts";
import { emptyTables } from "../../support/database/empty-tables.ts";
import { untilSomebodyWaits } from "../../support/database/waiting.ts";
import {
  addEndpoint,
  clearWebhooks,
  type Exchanged,
  exchange,
  leasedLanes,
  type Lane,
  type Leased,
  readLane,
  record,
  resultOf,
  seedDeliveries,
  tokenOf,
} from "../../support/database/webhooks.ts";

const db = useDatabase();
beforeEach(() => clearWebhooks(db.sql));

const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000);
const addEndpoints = (count: number, columns: object = {}) =>
  Promise.all(Array.from({ length: count }, () => addEndpoint(db.sql, null, columns)));
const idsOf = (deliveries: { id: string }[]) => deliveries.map(({ id }) => id);
const delivered = (deliveries: Leased[]) => deliveries.map((each) => resultOf(each, { status_code: 200 }));
const maxOpenOf = (lanes: Lane[], endpoint: string) =>
  lanes.flatMap(({ endpoints }) => endpoints).find(({ endpoint_id }) => endpoint_id === endpoint)?.max_open;
const perEndpoint = (deliveries: Leased[]) => {
  const counts = new Map<string, number>();
  for (const { endpoint_id } of deliveries) counts.set(endpoint_id, (counts.get(endpoint_id) ?? 0) + 1);
  return counts;
};
/** Records these as delivered and takes more, as the holder of all lanes of the answer. */
const goOn = (claimed: Exchanged, done: Leased[], more = true) => {
  const ids = new Set(idsOf(done));
  const leased = leasedLanes(claimed, { sending: (id) => !ids.has(id), more });
  return exchange(db.sql, { results: delivered(done), leased });
};

describe("what a claim brings", () => {
  test("a due delivery → its lane's token, the number of the attempt, the event's id and body, the endpoint's address and secret", async () => {
    const endpoint = await addEndpoint(db.sql, null, { url: "https://crm.example/in" });
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const { recorded, lanes } = await exchange(db.sql);
    const [event] = await db.sql`select id, payload::text as body from keyframe.webhook_events`;
    const [secret] = await db.sql`select keyframe_private.webhook_secret(${endpoint}) as text`;
    expect(recorded).toBe(0);
    expect(lanes).toEqual([
      {
        lane_id: endpoint, // a service-wide endpoint has a lane of its own
        token: await tokenOf(db.sql, endpoint),
        endpoints: [
          {
            endpoint_id: endpoint,
            max_open: 8,
            url: "https://crm.example/in",
            secrets: [secret?.text],
            deliveries: [{ id, attempt: 1, event_id: event?.id, body: event?.body }],
          },
        ],
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

  test("many due at the same moment → the first inserted first, by their ids", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 1 });
    const ids = (await db.sql`select keyframe_private.uuid_v7() as id from generate_series(1, 6)`).map(({ id }) => id);
    const due = { next_attempt_at: fromNow(-5) };
    for (const id of ids.toReversed()) await seedDeliveries(db.sql, endpoint, 1, { ...due, id });
    expect(idsOf((await exchange(db.sql)).deliveries)).toEqual(ids.toSorted().slice(0, 2));
  });

  test("due at several endpoints of an owner → one lane with all of them, each with its own limit", async () => {
    const owner = await db.addUser();
    const [quick, slow] = [
      await addEndpoint(db.sql, owner, { max_in_flight: 3 }),
      await addEndpoint(db.sql, owner, { max_in_flight: 1 }),
    ];
    for (const endpoint of [quick, slow]) await seedDeliveries(db.sql, endpoint, 10);
    const { lanes, deliveries } = await exchange(db.sql);
    expect(lanes).toMatchObject([{ lane_id: owner }]);
    expect([maxOpenOf(lanes, quick), maxOpenOf(lanes, slow)]).toEqual([3, 1]);
    expect(perEndpoint(deliveries)).toEqual(
      new Map([
        [quick, 6],
        [slow, 2],
      ]),
    );
  });

  test("several events of one transaction, max_in_flight 1 → in the order of their inserts", async () => {
    const owner = await db.addUser();
    await addEndpoint(db.sql, owner, { max_in_flight: 1 });
    const titles = ["one", "two", "three", "four", "five", "six"];
    await db.sql.begin(async (sql) => {
      for (const title of titles)
        await sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${owner}, ${title}, 'p')`;
    });
    const sent: string[] = [];
    for (
      let claimed = await exchange(db.sql);
      claimed.deliveries.length > 0;
      claimed = await goOn(claimed, claimed.deliveries)
    )
      sent.push(...claimed.deliveries.map(({ body }) => JSON.parse(body).data.title));
    expect(sent).toEqual(titles);
  });
});

describe("max_bytes", () => {
  const setBodies = (bytes: number) =>
    db.sql`update keyframe.webhook_events set payload = jsonb_build_object('data', repeat('x', ${bytes}))`;

  test("more is due than bodies of max_bytes → the first ones of each lane, then further ones; the rest is due at once", async () => {
    const endpoints = await addEndpoints(3);
    for (const endpoint of endpoints) await seedDeliveries(db.sql, endpoint, 5);
    await setBodies(10_000);
    const first = await exchange(db.sql, { maxBytes: 45_000 });
    expect([...perEndpoint(first.deliveries).values()].toSorted()).toEqual([1, 1, 2]);
    const rest = await goOn(first, first.deliveries);
    expect([first.recorded, rest.recorded, rest.deliveries.length]).toEqual([0, 4, 11]);
  });

  test("a body is larger than max_bytes → one delivery comes; lanes without any are free and due", async () => {
    const endpoints = await addEndpoints(3);
    for (const endpoint of endpoints) await seedDeliveries(db.sql, endpoint, 2);
    await setBodies(10_000);
    const { deliveries } = await exchange(db.sql, { maxBytes: 5_000 });
    expect(deliveries).toHaveLength(1);
    const free = await db.sql`select from keyframe_private.lanes where token is null and due_at <= now()`;
    expect(free.count).toBe(2);
  });
});

describe("one worker has a lane", () => {
  test("while it is leased → nobody else gets a delivery of it; the holder gets more as it has room", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 100);
    const claimed = await exchange(db.sql);
    expect([claimed.deliveries.length, maxOpenOf(claimed.lanes, endpoint)]).toEqual([16, 8]);
    expect((await exchange(db.sql)).deliveries).toEqual([]);
    const next = await goOn(claimed, claimed.deliveries.slice(0, 3));
    expect([next.recorded, next.deliveries.length, next.lanes[0]?.token]).toEqual([3, 3, claimed.lanes[0]?.token]);
    expect(new Set([...idsOf(claimed.deliveries), ...idsOf(next.deliveries)]).size).toBe(19);
  });

  test("a claim that is not committed yet → another does not wait for it, and leaves its lane alone", async () => {
    const [taken = "", free = ""] = await addEndpoints(2);
    await seedDeliveries(db.sql, taken, 20);
    await exchange(db.sql, { maxLanes: 1, leaseSeconds: 0 });
    await db.sql.begin(async (sql) => {
      expect((await exchange(sql)).deliveries.length).toBe(16);
      await seedDeliveries(db.sql, free, 3);
      const { deliveries } = await exchange(db.sql);
      expect([...perEndpoint(deliveries).keys()]).toEqual([free]);
    });
  });
});

test("two claims read the arrivals of the same new lanes → one waits for the other, and neither fails", async () => {
  const endpoints = await addEndpoints(3);
  for (const endpoint of endpoints) await seedDeliveries(db.sql, endpoint, 1);
  const { waiting } = await db.sql.begin(async (sql) => {
    // Holds up both where they meet.
    await sql`insert into keyframe_private.lanes (id, due_at) values (${endpoints.toSorted()[1] ?? ""}, 'infinity')`;
    const claims = [exchange(db.sql), exchange(db.sql)];
    await untilSomebodyWaits(db.sql, 2);
    return { waiting: Promise.all(claims) };
  });
  const deliveries = (await waiting).flatMap((claimed) => claimed.deliveries);
  deliveries.push(...(await exchange(db.sql)).deliveries); // an arrival whose lane the other had locked
  expect(deliveries.map(({ endpoint_id }) => endpoint_id).toSorted()).toEqual(endpoints.toSorted());
});

test("max_in_flight, an endpoint that only fails → one request at a time; its first success → as many as before", async () => {
  const endpoint = await addEndpoint(db.sql, null);
  await seedDeliveries(db.sql, endpoint, 100);
  const claimed = await exchange(db.sql);
  const failed = claimed.deliveries.slice(0, 1).map((each) => resultOf(each, { error: "timeout" }));
  await record(db.sql, failed);
  const probe = await exchange(db.sql);
  expect([probe.deliveries.length, maxOpenOf(probe.lanes, endpoint)]).toEqual([2, 1]);
  const next = await goOn(probe, probe.deliveries.slice(0, 1));
  expect([next.deliveries.length, maxOpenOf(next.lanes, endpoint)]).toEqual([1, 8]); // it had room for one
});

describe("a lease", () => {
  test("that holds → nobody else gets the lane; expired → it is taken over under a new token, its deliveries as the same attempt", async () => {
    const [id] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const at = new Date();
    const first = await exchange(db.sql, { leaseSeconds: 60, at });
    expect((await exchange(db.sql, { at: new Date(at.getTime() + 30_000) })).deliveries).toEqual([]);
    const second = await exchange(db.sql, { at: new Date(at.getTime() + 90_000) });
    expect(second.deliveries).toMatchObject([{ id, attempt: 1 }]);
    expect(second.lanes[0]?.token).not.toBe(first.lanes[0]?.token);
  });

  test("of a lane that the holder names in its calls → is renewed, also when it has expired and nobody has taken the lane", async () => {
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const claimed = await exchange(db.sql, { leaseSeconds: 60 });
    for (const seconds of [50, 100, 170]) {
      const { lost } = await exchange(db.sql, { leased: leasedLanes(claimed), leaseSeconds: 60, at: fromNow(seconds) });
      expect(lost).toEqual([]);
      expect((await exchange(db.sql, { at: fromNow(seconds + 55) })).deliveries).toEqual([]);
    }
  });

  test("renewed every moment → is written when a third of it has passed", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 1);
    const claimed = await exchange(db.sql, { leaseSeconds: 60 });
    const version = async (seconds: number) => {
      await exchange(db.sql, { leased: leasedLanes(claimed), leaseSeconds: 60, at: fromNow(seconds) });
      return (await db.sql`select ctid::text from keyframe_private.lanes where id = ${endpoint}`)[0]?.ctid;
    };
    const [first, second, third] = [await version(1), await version(19), await version(21)];
    expect([second === first, third === second]).toEqual([true, false]);
  });

  test("of a worker whose lane somebody has locked at this moment → does not wait; it is neither renewed, filled nor released", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 30);
    const claimed = await exchange(db.sql, { leaseSeconds: 1 });
    await db.sql.begin(async (sql) => {
      await sql`update keyframe_private.lanes set served_at = served_at where id = ${endpoint}`;
      await db.sql.begin(async (other) => {
        await other`set local lock_timeout = '2 s'`;
        const leased = [{ ...(leasedLanes(claimed)[0] as LeasedLane), sending: [] }];
        const { lanes, lost } = await exchange(other, { leased });
        expect([lanes, lost]).toEqual([[], []]);
      });
    });
    expect(await tokenOf(db.sql, endpoint)).toBe(claimed.lanes[0]?.token);
  });
});

test.each([
  ["one endpoint of 60", 1, 60, 100],
  ["6 endpoints of 20", 6, 20, 2],
])(
  "10 workers at once over %s → each delivery once, each attempt logged once",
  async (_what, count, each, maxLanes) => {
    for (const endpoint of await addEndpoints(count)) await seedDeliveries(db.sql, endpoint, each);
    const send = async (): Promise<string[]> => {
      const ids: string[] = [];
      for (let idle = 0; idle < 3; ) {
        const { deliveries } = await exchange(db.sql, { maxLanes });
        idle = deliveries.length === 0 ? idle + 1 : 0;
        ids.push(...idsOf(deliveries));
        await record(db.sql, delivered(deliveries));
      }
      return ids;
    };
    const ids = (await Promise.all(Array.from({ length: 10 }, send))).flat();
    // A lane whose write waited too long for another worker's is set aside for some seconds.
    await until("the lanes that were set aside are sent too", async () => {
      ids.push(...(await send()));
      return ids.length >= count * each;
    });
    expect([ids.length, new Set(ids).size]).toEqual([count * each, count * each]);
    const [row] =
      await db.sql`select count(*)::int as attempts, max(attempt) as highest from keyframe.webhook_attempts`;
    expect(row).toEqual({ attempts: count * each, highest: 1 });
  },
);

/** Lanes for one turn, as a worker takes them that then releases them; which they are. */
const turn = async (maxLanes: number, at?: Date) => {
  const claimed = await exchange(db.sql, { maxLanes, smallLane: 8, ...(at && { at }) });
  await exchange(db.sql, { results: delivered(claimed.deliveries), maxLanes: 0, ...(at && { at }) });
  return claimed;
};

describe("turns", () => {
  test("owners with one endpoint, and one with 20 → each has one lane, and they take turns", async () => {
    const owners = await Promise.all(Array.from({ length: 4 }, () => db.addUser()));
    const [greedy = "", ...others] = owners;
    for (let i = 0; i < 20; i++) await seedDeliveries(db.sql, await addEndpoint(db.sql, greedy), 3);
    for (const owner of others) await seedDeliveries(db.sql, await addEndpoint(db.sql, owner), 20);
    for (let round = 0; round < 4; round++) {
      const taken = [await turn(2), await turn(2)];
      expect(taken.flatMap(({ lanes }) => lanes.map(({ lane_id }) => lane_id)).sort()).toEqual([...owners].sort());
      for (const { deliveries } of taken) expect(deliveries).toHaveLength(4); // two each
    }
  });

  test("a lane with few deliveries, while others wait → all of them in one turn; one with more than eight → two", async () => {
    const [few = "", ...many] = await addEndpoints(6);
    await seedDeliveries(db.sql, few, 5);
    for (const endpoint of many) await seedDeliveries(db.sql, endpoint, 9);
    for (let i = 0; i < 5; i++) {
      const [[endpoint, count] = []] = perEndpoint((await turn(1)).deliveries);
      expect(count).toBe(endpoint === few ? 5 : 2);
    }
  });

  test("an owner who had none lately → before those who have one after another, though theirs have been due for longer", async () => {
    const busy = await addEndpoints(3);
    for (const endpoint of busy) await seedDeliveries(db.sql, endpoint, 20, { next_attempt_at: fromNow(-60) });
    for (let i = 0; i < 3; i++) await turn(1);
    const [quiet = ""] = await addEndpoints(1);
    await seedDeliveries(db.sql, quiet, 1);
    expect((await turn(1)).lanes).toMatchObject([{ lane_id: quiet }]);
    // Then again in the order of their last turns.
    const order = [await turn(1), await turn(1), await turn(1), await turn(1)].map(({ lanes }) => lanes[0]?.lane_id);
    expect(new Set(order.slice(0, 3))).toEqual(new Set(busy));
    expect(order[3]).toBe(order[0]);
  });

  test("others wait for a turn → two deliveries for a new lane, none for a leased one; none waits → all there is room for", async () => {
    const [leased = "", ...others] = await addEndpoints(4);
    await seedDeliveries(db.sql, leased, 40);
    const claimed = await exchange(db.sql);
    for (const endpoint of others) await seedDeliveries(db.sql, endpoint, 20);
    const holding = { leased: leasedLanes(claimed, { sending: (id) => id === claimed.deliveries[0]?.id }) };
    const crowded = await exchange(db.sql, { ...holding, maxLanes: 2, smallLane: 8 });
    expect([...perEndpoint(crowded.deliveries).values()]).toEqual([2, 2]);
    expect(perEndpoint(crowded.deliveries).has(leased)).toBe(false);
    const rest = await exchange(db.sql, { ...holding, maxLanes: 2 });
    expect([...perEndpoint(rest.deliveries).values()].sort()).toEqual([15, 16]);
  });

  test("an owner with old deliveries at one endpoint, and a new one at another → a turn brings one of each", async () => {
    const owner = await db.addUser();
    const [old, fresh] = [await addEndpoint(db.sql, owner), await addEndpoint(db.sql, owner)];
    await seedDeliveries(db.sql, old, 20, { next_attempt_at: fromNow(-60) });
    await seedDeliveries(db.sql, fresh, 1);
    await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 20);
    const taken = [await turn(1), await turn(1)].find(({ lanes }) => lanes[0]?.lane_id === owner);
    expect(perEndpoint(taken?.deliveries ?? [])).toEqual(new Map([old, fresh].map((endpoint) => [endpoint, 1])));
  });

  test("a due lane that somebody has locked → is nobody's turn: others get as many as there are", async () => {
    const [locked = "", other = ""] = await addEndpoints(2);
    for (const endpoint of [locked, other]) await seedDeliveries(db.sql, endpoint, 20);
    await turn(100);
    await db.sql.begin(async (sql) => {
      await sql`select from keyframe_private.lanes where id = ${locked} for update`;
      await seedDeliveries(db.sql, locked, 1);
      const { others_wait, deliveries } = await exchange(db.sql);
      expect([others_wait, perEndpoint(deliveries)]).toEqual([false, new Map([[other, 16]])]);
    });
  });

  test("the clock was set back since a lane was taken → it is due as if it had been taken now", async () => {
    const [endpoint = ""] = await addEndpoints(1);
    await seedDeliveries(db.sql, endpoint, 20);
    const { lanes } = await exchange(db.sql, { at: fromNow(3600) });
    await exchange(db.sql, { leased: leasedLanes({ lanes }, { sending: () => false, more: false }), maxLanes: 0 });
    expect((await exchange(db.sql)).deliveries).toHaveLength(16);
  });

  test("the clock was set back after a worker took a lane and died → the next arrival makes it due", async () => {
    const [endpoint = ""] = await addEndpoints(1);
    await seedDeliveries(db.sql, endpoint, 1);
    await exchange(db.sql, { at: fromNow(3600) });
    await seedDeliveries(db.sql, endpoint, 1);
    expect((await exchange(db.sql)).deliveries).toHaveLength(2);
  });

  test("a lane is given back for a pause → due when that ends, or at once when something arrives", async () => {
    const [quiet = "", busy = ""] = await addEndpoints(2);
    for (const endpoint of [quiet, busy]) await seedDeliveries(db.sql, endpoint, 1);
    const leased = leasedLanes(await exchange(db.sql), { sending: () => false, more: false });
    await exchange(db.sql, { leased: leased.map((lane) => ({ ...lane, pause_ms: 2_000 })), maxLanes: 0 });
    expect((await exchange(db.sql)).deliveries).toEqual([]);
    await seedDeliveries(db.sql, busy, 1);
    expect([...perEndpoint((await exchange(db.sql)).deliveries)]).toEqual([[busy, 2]]);
    expect([...perEndpoint((await exchange(db.sql, { at: fromNow(2.1) })).deliveries)]).toEqual([[quiet, 1]]);
  });

  test("a lane is released → due when its next delivery is: now, in an hour, never", async () => {
    const [now = "", later = "", never = ""] = await addEndpoints(3);
    await seedDeliveries(db.sql, now, 17);
    for (const endpoint of [later, never]) await seedDeliveries(db.sql, endpoint, 1);
    await seedDeliveries(db.sql, later, 1, { next_attempt_at: fromNow(3600) });
    await turn(100);
    const { next_attempt_at } = (
      await db.sql`select next_attempt_at from keyframe.webhook_deliveries where endpoint_id = ${later} and status = 'pending'`
    )[0] as { next_attempt_at: Date };
    expect(await readLane(db.sql, later)).toMatchObject({ token: null, due_at: next_attempt_at });
    expect((await db.sql`select from keyframe_private.lanes where id = ${never} and due_at = 'infinity'`).count).toBe(
      1,
    );
    expect([...perEndpoint((await exchange(db.sql)).deliveries).keys()]).toEqual([now]);
    expect((await exchange(db.sql, { at: fromNow(3601) })).deliveries.map((each) => each.endpoint_id)).toContain(later);
  });
});

describe("arrivals", () => {
  const arrivals = async () => (await db.sql`select from keyframe_private.lane_arrivals`).count;

  test("for a lane that is leased → its holder gets them, also when it releases the lane at this moment", async () => {
    const [endpoint = ""] = await addEndpoints(1);
    await seedDeliveries(db.sql, endpoint, 1);
    const claimed = await exchange(db.sql);
    const results = delivered(claimed.deliveries);
    await db.sql.begin(async (sql) => {
      await record(sql, results);
      await seedDeliveries(db.sql, endpoint, 1); // after the holder has looked
      expect((await exchange(db.sql)).deliveries).toEqual([]);
      expect(await arrivals()).toBe(1);
    });
    expect((await exchange(db.sql)).deliveries).toHaveLength(1);
    expect(await arrivals()).toBe(0);
    await seedDeliveries(db.sql, endpoint, 1);
    expect((await exchange(db.sql)).deliveries).toEqual([]);
    expect(await arrivals()).toBe(0); // read: the lane is leased
    await db.sql`update keyframe_private.lanes set due_at = now() where id = ${endpoint}`;
    expect((await exchange(db.sql)).deliveries).toHaveLength(2);
  });

  test("of a transaction that stays open → nobody sees it, others' are read; committed → it is read; rolled back → never", async () => {
    const [endpoint = ""] = await addEndpoints(1);
    for (const isKept of [false, true]) {
      const undone = new Error("taken back");
      const open = db.sql.begin(async (sql) => {
        await seedDeliveries(sql, endpoint, 1);
        await seedDeliveries(db.sql, endpoint, 1);
        expect((await turn(100)).deliveries).toHaveLength(1);
        if (!isKept) throw undone;
      });
      await open.catch((error: unknown) => expect(error).toBe(undone));
      expect((await turn(100)).deliveries).toHaveLength(isKept ? 1 : 0);
    }
  });

  test("disabled when they came → kept with their delivery until the endpoint is enabled", async () => {
    const endpoint = await addEndpoint(db.sql, null, { enabled: false });
    await seedDeliveries(db.sql, endpoint, 2);
    expect((await turn(100)).deliveries).toEqual([]);
    await db.sql`update keyframe.webhook_endpoints set enabled = true where id = ${endpoint}`;
    expect((await turn(100)).deliveries).toHaveLength(2);
  });

  test.each([
    ["has locked", "select from keyframe_private.lane_arrivals for update"],
    ["is deleting", "delete from keyframe_private.lane_arrivals where true"],
  ])(
    "that somebody %s → nobody waits for that: their deliveries come at once, and so do later ones of the same lane",
    async (_what, hold) => {
      const endpoints = await addEndpoints(3);
      await turn(100);
      for (const endpoint of endpoints.slice(0, 2)) await seedDeliveries(db.sql, endpoint, 1);
      await db.sql.begin(async (sql) => {
        await sql.unsafe(hold);
        const sent = await db.sql.begin(async (other) => {
          await other`set local lock_timeout = '2 s'`;
          const { deliveries } = await exchange(other, { waitMs: 100 });
          await record(other, delivered(deliveries));
          return deliveries.map(({ endpoint_id }) => endpoint_id);
        });
        expect(sent.toSorted()).toEqual(endpoints.slice(0, 2).toSorted());
        await seedDeliveries(db.sql, endpoints[0] ?? "", 1);
        await seedDeliveries(db.sql, endpoints[2] ?? "", 1);
        const again = (await turn(100)).deliveries.map(({ endpoint_id }) => endpoint_id);
        expect(again.toSorted()).toEqual([endpoints[0], endpoints[2]].toSorted());
      });
      expect((await turn(100, fromNow(5))).deliveries).toEqual([]);
      expect(await arrivals()).toBe(0);
    },
  );

  test("that somebody holds for a lane just served → its deliveries come a second later; the lane is not taken each time", async () => {
    const [endpoint = ""] = await addEndpoints(1);
    await seedDeliveries(db.sql, endpoint, 1);
    const at = new Date();
    expect((await turn(100, at)).deliveries).toHaveLength(1);
    await seedDeliveries(db.sql, endpoint, 1);
    await db.sql.begin(async (sql) => {
      await sql`select from keyframe_private.lane_arrivals for update`;
      const later = (ms: number) => new Date(at.getTime() + ms);
      expect((await turn(100, later(900))).deliveries).toEqual([]);
      expect((await turn(100, later(1_100))).deliveries).toHaveLength(1);
      const served = (await readLane(db.sql, endpoint))?.served_at;
      await turn(100, later(2_000));
      expect((await readLane(db.sql, endpoint))?.served_at).toEqual(served);
    });
  });

  test("that somebody holds, and no worker runs → the sweep kicks one; a worker that waits for work waits on", async () => {
    const [endpoint = ""] = await addEndpoints(1);
    await seedDeliveries(db.sql, endpoint, 1);
    await db.sql.begin(async (sql) => {
      await sql`select from keyframe_private.lane_arrivals for update`;
      const [row] = await db.sql<{ due: boolean }[]>`select keyframe_private.has_due_delivery(now()) as due`;
      expect(row?.due).toBe(false);
      await emptyTables(db.sql, "keyframe_private.kicks, keyframe_private.worker_heartbeats");
      await db.sql`select keyframe_private.sweep()`;
      expect((await db.sql`select from keyframe_private.kicks where function_name = 'deliver'`).count).toBe(1);
    });
  });

  test("thousands for a lane that somebody has locked → those of others are read", async () => {
    const [locked = "", other = ""] = await addEndpoints(2);
    await exchange(db.sql);
    await db.sql`insert into keyframe_private.lanes (id, due_at) values (${locked}, 'infinity')`;
    await db.sql`insert into keyframe_private.lane_arrivals (lane_id) select ${locked} from generate_series(1, 12000)`;
    await seedDeliveries(db.sql, other, 1);
    await db.sql`insert into keyframe_private.lane_arrivals (lane_id) select ${locked} from generate_series(1, 12000)`;
    await db.sql.begin(async (sql) => {
      await sql`select from keyframe_private.lanes where id = ${locked} for update`;
      const { lanes, others_wait } = await exchange(db.sql);
      expect([lanes, others_wait]).toMatchObject([[{ lane_id: other }], false]);
      expect(await arrivals()).toBe(24_000);
    });
    expect((await exchange(db.sql)).others_wait).toBe(true); // more are left
  });
});

test("lanes used again and again → one row for each; one that nothing has come for in a day goes", async () => {
  const [endpoint = ""] = await addEndpoints(1, { max_in_flight: 1 });
  const other = await addEndpoint(db.sql, null);
  for (const id of [endpoint, other]) await seedDeliveries(db.sql, id, 5);
  for (let claimed = await exchange(db.sql); claimed.deliveries.length > 0; claimed = await exchange(db.sql))
    await record(db.sql, delivered(claimed.deliveries));
  const lanes = () => db.sql`select id, token from keyframe_private.lanes order by id`;
  expect([...(await lanes())]).toEqual([endpoint, other].sort().map((id) => ({ id, token: null })));
  await db.sql`update keyframe_private.lanes set served_at = now() - interval '25 hours' where id = ${endpoint}`;
  await db.sql`select keyframe_private.prune_webhooks()`;
  expect([...(await lanes())]).toMatchObject([{ id: other }]);
});
