import { beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { columnOf } from "../../support/database/predictions.ts";
import {
  addEndpoint,
  clearWebhooks,
  exchange,
  type Leased,
  leasedOf,
  type Outcome,
  record,
  resultOf,
  resultsOf,
  seedDeliveries,
  sendNext,
} from "../../support/database/webhooks.ts";

const db = useDatabase();
beforeEach(() => clearWebhooks(db.sql));

const OK: Outcome = { status_code: 200 };
const QUICK = { standing: "quick" };
const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000);
const idsOf = (deliveries: { id: string }[]) => deliveries.map(({ id }) => id);
const resourcesOf = (endpoint: string) =>
  columnOf(db.sql`select distinct resource from keyframe_private.work where lane = ${endpoint}`);
const queued = async () => (await db.sql`select from keyframe_private.work`).count;
const LARGE = "update keyframe.webhook_events set payload = jsonb_build_object('data', repeat('x', 10000))";
/** What one process after another is given. */
const claimAs = async (worker: string, at?: Date) => (await exchange(db.sql, { worker, ...(at && { at }) })).deliveries;
const [FIRST, SECOND] = [crypto.randomUUID(), crypto.randomUUID()];

describe("a claim of deliveries", () => {
  test("a claim of a due delivery → the number of its attempt, the event's id and body, the endpoint's URL, limit and secret", async () => {
    const endpoint = await addEndpoint(db.sql, null, { url: "https://crm.example/in" });
    const [id = ""] = await seedDeliveries(db.sql, endpoint, 1);
    const { endpoints } = await exchange(db.sql);
    const [event] = await db.sql`select id, payload::text as body from keyframe.webhook_events`;
    const [secret] = await db.sql`select keyframe_private.webhook_secret(${endpoint}) as text`;
    const deliveries = [{ id, work_id: expect.any(Number), attempt: 1, event_id: event?.id, body: event?.body }];
    expect(endpoints).toEqual([
      { endpoint_id: endpoint, max_open: 8, url: "https://crm.example/in", secrets: [secret?.text], deliveries },
    ]);
  });

  test("several events of one transaction, for an endpoint with max_in_flight 1 → one at a time, in the order of their inserts", async () => {
    const owner = await db.addUser();
    await addEndpoint(db.sql, owner, { max_in_flight: 1 });
    const titles = ["one", "two", "three", "four", "five", "six"];
    await db.sql.begin(async (sql) => {
      for (const title of titles)
        await sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${owner}, ${title}, 'p')`;
    });
    const sent: string[] = [];
    for (let next: Leased[] | undefined; next?.length !== 0; ) {
      next = await claimAs(FIRST);
      await record(db.sql, resultsOf(next, { ...OK, duration_ms: 5_000 }));
      expect(next.length).toBeLessThanOrEqual(1);
      sent.push(...next.map(({ body }) => JSON.parse(body).data.title));
    }
    expect(sent).toEqual(titles);
  });

  test("due bodies of more than max_bytes → a claim takes as many as fit, at least one; the rest comes with the next calls", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    const ids = await seedDeliveries(db.sql, endpoint, 6);
    await db.sql.unsafe(LARGE);
    const parts = [];
    for (const maxBytes of [25_000, 5_000, 1e5]) parts.push(idsOf((await exchange(db.sql, { maxBytes })).deliveries));
    expect(parts).toEqual([ids.slice(0, 2), ids.slice(2, 3), ids.slice(3)]);
  });

  test("large bodies of others exceed max_bytes → a later owner's small one comes with the same call, each endpoint's in order", async () => {
    const seedOf = async (count: number) =>
      seedDeliveries(db.sql, await addEndpoint(db.sql, await db.addUser()), count);
    const large = [await seedOf(6), await seedOf(6)];
    await db.sql.unsafe(LARGE);
    const small = await seedOf(1);
    const { deliveries } = await exchange(db.sql, { maxBytes: 45_000 });
    expect(idsOf(deliveries).toSorted()).toEqual([...large.flatMap((ids) => ids.slice(0, 2)), ...small].toSorted());
  });

  test("a delivery added after a claim began → not due for that claim; the next one leases it", async () => {
    const [id] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1, { next_attempt_at: new Date() });
    expect((await exchange(db.sql, { at: fromNow(-0.5) })).deliveries).toEqual([]);
    expect(idsOf((await exchange(db.sql, { at: fromNow(0.5) })).deliveries)).toEqual([id]);
  });
});

describe("how much of an endpoint one worker leases", () => {
  test.each([
    ["is new → max_in_flight", {}, 3, 2],
    ["answers quickly → four times max_in_flight", QUICK, 12, 2],
    ["is slow → max_in_flight", { standing: "slow" }, 3, 2],
    ["only fails → one", { ...QUICK, failing_since: new Date() }, 1, 0],
  ])(
    "an endpoint that %s; another worker gets what is left of max_in_flight",
    async (_what, columns, most, mostBeside) => {
      const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 3, ...columns });
      const ids = await seedDeliveries(db.sql, endpoint, 30);
      const first = await claimAs(FIRST);
      expect(idsOf(first)).toEqual(ids.slice(0, most));
      expect([await claimAs(FIRST), await claimAs(SECOND)]).toEqual([[], []]);
      const returned = first.slice(1).map(({ work_id }) => work_id);
      await exchange(db.sql, { worker: FIRST, returned, maxRows: 0 });
      expect(idsOf(await claimAs(SECOND))).toEqual(ids.slice(1, 1 + mostBeside));
      expect([await claimAs(FIRST), await claimAs(SECOND)]).toEqual([[], []]);
    },
  );

  test("a claim while another worker's claim is not committed → nothing of the same endpoint", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 3 });
    await seedDeliveries(db.sql, endpoint, 30);
    await db.sql.begin(async (open) => {
      expect((await exchange(open, { worker: FIRST })).deliveries).toHaveLength(3);
      expect(await claimAs(SECOND)).toEqual([]);
    });
  });

  test("20 endpoints of one owner, each with many deliveries → together at most half of the worker's remaining places", async () => {
    const owner = await db.addUser();
    for (let i = 0; i < 20; i++) await seedDeliveries(db.sql, await addEndpoint(db.sql, owner, QUICK), 20);
    const other = await addEndpoint(db.sql, await db.addUser());
    await seedDeliveries(db.sql, other, 8);
    const { deliveries } = await exchange(db.sql, { maxRows: 440 });
    const ofOther = deliveries.filter(({ endpoint_id }) => endpoint_id === other);
    expect(ofOther).toHaveLength(8);
    expect(deliveries.length).toBeLessThanOrEqual(8 + 176);
    expect(deliveries.length).toBeGreaterThan(8 + 100);
    const [fresh] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    expect(idsOf((await exchange(db.sql, { maxRows: 440 })).deliveries)).toContain(fresh);
  });

  test("10 claims at once for 6 endpoints with 20 deliveries each → each delivery once, each attempt logged once", async () => {
    for (let i = 0; i < 6; i++) await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 20);
    const left = async () => (await db.sql`select from keyframe.webhook_deliveries where status = 'pending'`).count;
    const sent: string[] = [];
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (const worker = crypto.randomUUID(); (await left()) > 0; ) {
          const deliveries = await claimAs(worker);
          sent.push(...idsOf(deliveries));
          await record(db.sql, resultsOf(deliveries, OK));
        }
      }),
    );
    expect([sent.length, new Set(sent).size]).toEqual([120, 120]);
    const [row] = await db.sql`select count(*)::int as n, max(attempt) as highest from keyframe.webhook_attempts`;
    expect(row).toEqual({ n: 120, highest: 1 });
  });
});

describe("the standing of an endpoint: quick or slow", () => {
  test("an endpoint answers quickly → tried, then quick; after 3 s → slow until five quick answers; its deliveries follow", async () => {
    const endpoint = await addEndpoint(db.sql, null, { url: "https://Hooks.example:8443/in", max_in_flight: 1 });
    await seedDeliveries(db.sql, endpoint, 40);
    const standings: unknown[] = await resourcesOf(endpoint);
    for (const duration_ms of [...Array(5).fill(2_999), 3_000, ...Array(4).fill(10), 3_000, ...Array(5).fill(10)]) {
      const [next] = (await exchange(db.sql)).deliveries;
      if (!next) throw new Error("Nothing came.");
      await record(db.sql, [resultOf(next, { ...OK, duration_ms })]);
      for (let calls = 0; calls < 3; calls++) {
        const returned = (await leasedOf(db.sql, endpoint)).map(({ id }) => Number(id));
        await exchange(db.sql, { returned, maxRows: calls < 2 ? 100 : 0 }); // moves what is ready
      }
      standings.push(...(await resourcesOf(endpoint)));
    }
    const [fresh, tried, quick, slow] = ["new", "tried", "quick", "slow"].map(
      (standing) => `hooks.example ${standing}`,
    );
    expect(standings).toEqual([fresh, ...Array(4).fill(tried), quick, ...Array(10).fill(slow), quick]);
  });

  test.each([
    ["refuses the connection → stays new", { error: "connection" }, "new"],
    ["answers 500 → has a quick answer", { status_code: 500 }, "tried"],
    ["does not answer in time → counts as slow", { error: "timeout", duration_ms: 15_000 }, "slow"],
  ])("a new endpoint %s", async (_what, outcome, standing) => {
    const endpoint = await addEndpoint(db.sql, null, { url: "https://hooks.example/" });
    await seedDeliveries(db.sql, endpoint, 1);
    await sendNext(db.sql, outcome);
    await seedDeliveries(db.sql, endpoint, 1, { next_attempt_at: fromNow(-60) });
    expect(await resourcesOf(endpoint)).toContain(`hooks.example ${standing}`);
  });

  test("an endpoint's URL is changed → its waiting deliveries are sent to the new one", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, endpoint, 3);
    await db.sql`update keyframe.webhook_endpoints set url = 'https://moved.example/' where id = ${endpoint}`;
    for (let call = 0; call < 2; call++) await exchange(db.sql);
    expect(await leasedOf(db.sql, endpoint)).toMatchObject(Array(3).fill({ resource: "moved.example new" }));
  });
});

describe("an endpoint that is disabled", () => {
  const enable = (endpoint: string, enabled: boolean) =>
    db.sql`update keyframe.webhook_endpoints set enabled = ${enabled} where id = ${endpoint}`;

  test("an endpoint is disabled and enabled → waiting deliveries leave the queue, and return in parts, in order, with new ones", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 100, ...QUICK });
    const ids = await seedDeliveries(db.sql, endpoint, 2_300);
    await enable(endpoint, false);
    for (let claims = 0; claims < 24; claims++) expect((await exchange(db.sql)).deliveries).toEqual([]);
    expect(await queued()).toBe(0);
    ids.push(...(await seedDeliveries(db.sql, endpoint, 200)));
    for (let claims = 0; claims < 2; claims++) expect((await exchange(db.sql)).deliveries).toEqual([]);
    await enable(endpoint, true);
    const sent: string[] = [];
    for (let { more } = { more: true }; more; ) {
      const claimed = await exchange(db.sql, { maxRows: 440 });
      more = claimed.more;
      sent.push(...idsOf(claimed.deliveries));
      await record(db.sql, resultsOf(claimed.deliveries, OK));
    }
    expect(sent).toEqual(ids);
    expect(await queued()).toBe(0);
  });

  test("an endpoint is disabled and enabled before a claim → each delivery is sent once", async () => {
    const endpoint = await addEndpoint(db.sql, null);
    const ids = await seedDeliveries(db.sql, endpoint, 5);
    for (const enabled of [false, true, false, true]) await enable(endpoint, enabled);
    const sent = [];
    for (let turn = 0; turn < 3; turn++) sent.push(...(await sendNext(db.sql, OK)));
    expect([sent.toSorted(), await queued()]).toEqual([ids.toSorted(), 0]);
  });

  test("an endpoint is disabled during requests → these are recorded; the rest leaves the queue", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 1 });
    await seedDeliveries(db.sql, endpoint, 3);
    const { deliveries } = await exchange(db.sql);
    await enable(endpoint, false);
    await record(db.sql, resultsOf(deliveries, OK));
    expect((await exchange(db.sql)).deliveries).toEqual([]);
    expect(await queued()).toBe(0);
    expect((await db.sql`select from keyframe.webhook_deliveries where status = 'delivered'`).count).toBe(1);
  });
});

test("two thousand endpoints with work are deleted at once → another event at their host waits for at most ten claims", async () => {
  await db.sql`
    insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
    select 'deliver', 'deliver', gen_random_uuid(), lane, lane, 'receiver.example new', 'ready', now()
    from (select gen_random_uuid() as lane from generate_series(1, 2000)) l, generate_series(1, 4)`;
  const last = { id: "ffffffff-ffff-ffff-ffff-fffffffffffe" }; // the last lane of the walk
  const [id = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, await db.addUser(), last), 1);
  let claims = 0;
  let [cursors, sent]: [unknown, string[]] = [{ deliver: { resource: "receiver.example new" } }, []];
  for (; !sent.includes(id); claims++) {
    const answer = await exchange(db.sql, { cursors });
    [cursors, sent] = [answer.cursors, idsOf(answer.deliveries)];
    const left = await db.sql`select from keyframe_private.work where resource = 'receiver.example new'`;
    expect(8000 - left.count).toBeLessThanOrEqual(2_000 * (claims + 1));
  }
  expect(claims).toBeLessThanOrEqual(10);
});

describe("the lease of a delivery", () => {
  test("the lease of a worker that died → ends after 30 seconds; the delivery is leased again, as the same attempt", async () => {
    const [id] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    const at = new Date();
    await claimAs(FIRST, at);
    expect(await claimAs(SECOND, new Date(at.getTime() + 29_000))).toEqual([]);
    expect(await claimAs(SECOND, new Date(at.getTime() + 31_000))).toMatchObject([{ id, attempt: 1 }]);
  });

  test("a delivery whose worker dies each time → the others leased with it are soon sent, and none has a failed attempt", async () => {
    const endpoint = await addEndpoint(db.sql, null, { max_in_flight: 100 });
    const [deadly = "", ...others] = await seedDeliveries(db.sql, endpoint, 40);
    const sent = new Set<string>();
    const begin = Date.now();
    for (let ms = 0; sent.size < others.length && ms < 300_000; ms += 100) {
      const at = new Date(begin + ms);
      const deliveries = await claimAs(crypto.randomUUID(), at);
      if (deliveries.length === 0 || deliveries.some(({ id }) => id === deadly)) continue;
      await record(db.sql, resultsOf(deliveries, OK), at);
      for (const { id } of deliveries) sent.add(id);
    }
    expect([...sent].toSorted()).toEqual(others.toSorted());
    expect(await db.sql`select from keyframe.webhook_attempts where status_code is distinct from 200`).toHaveLength(0);
    const [row] = await db.sql`select kind, last_error from keyframe_private.work where subject = ${deadly}`;
    expect(row).toEqual({ kind: "deliver", last_error: "lease_expired" });
  });

  test("a lease from before the clock was set back → counts as expired", async () => {
    const [id] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1);
    await claimAs(FIRST, fromNow(3600));
    expect(idsOf(await claimAs(SECOND))).toEqual([id]);
  });

  test.each([
    ["failure does not count", 500, [{ attempt: 1, status_code: 200 }]],
    ["success ends the delivery", 204, [{ attempt: 1, status_code: 204 }]],
  ])(
    "a worker has lost its lease to another → it cannot give the delivery back; its %s",
    async (_what, late, recorded) => {
      const due = { next_attempt_at: fromNow(-60) };
      const [id = ""] = await seedDeliveries(db.sql, await addEndpoint(db.sql, null), 1, due);
      const [lost] = await claimAs(FIRST, fromNow(-40));
      const [held] = await claimAs(SECOND);
      if (!lost || !held) throw new Error("It was not handed out.");
      await exchange(db.sql, { worker: FIRST, returned: [lost.work_id], maxRows: 0 });
      expect(await claimAs(FIRST)).toEqual([]);
      const answer = await exchange(db.sql, {
        worker: FIRST,
        results: [resultOf(lost, { status_code: late })],
        maxRows: 0,
      });
      expect(answer.unrecorded).toEqual([]);
      await exchange(db.sql, { worker: SECOND, results: [resultOf(held, OK)], maxRows: 0 });
      const attempts =
        await db.sql`select attempt, status_code from keyframe.webhook_attempts where delivery_id = ${id}`;
      expect([...attempts]).toEqual(recorded);
      expect(await db.sql`select from keyframe_private.work where subject = ${id}`).toHaveLength(0);
    },
  );
});
