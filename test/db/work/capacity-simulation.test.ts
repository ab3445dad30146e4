import { beforeAll, beforeEach, expect, test } from "vitest";
import { quantile } from "../../../lab/bench/measure.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { deliverOver, isSentOnce } from "../../support/database/deliver.ts";
import { columnOf } from "../../support/database/predictions.ts";
import { clearWebhooks } from "../../support/database/webhooks.ts";

// Claims (lease_work) in simulated time: how long the work of other owners waits while some hang. A minute of one worker's claims for
// generate; below, for deliver, the worker itself.

/** `hangsFrom`: until then they take QUICK_MS. */
type Load = { owners: number; each: number; resource: string; ms: number; hangsFrom?: number };
type Task = Load & { id: string; owner: string; due: number; name: string };
type Queue = "ask" | "copy" | "deliver";

const QUICK_MS = 300;
const CALL_MS = 8;
const ADDED_UNTIL = 25_000;

const db = useDatabase();
const { makeDeliver } = deliverOver(db);
beforeAll(() =>
  db.sql.unsafe(`
    create function public.step(
      queues keyframe_private.work_queue[], worker uuid, at_ms integer, max_rows integer, done bigint[], added jsonb, cursors jsonb)
    returns jsonb language plpgsql as $$
    declare
      at constant timestamptz := timestamptz '2026-01-01' + make_interval(secs => at_ms / 1000.0);
      one keyframe_private.work_queue;
      l record;
      leased jsonb := '[]';
    begin
      set local synchronous_commit = off;
      delete from keyframe_private.work w where w.id = any (done);
      insert into keyframe_private.work (queue, kind, subject, owner_id, lane, resource, state, due_at)
      select a.queue, 'submit', a.id, md5(a.owner)::uuid, md5(a.owner)::uuid, a.resource,
        case when a.due <= at_ms then 'ready' else 'scheduled' end::keyframe_private.work_state,
        timestamptz '2026-01-01' + make_interval(secs => a.due / 1000.0)
      from jsonb_to_recordset(added) a (id uuid, queue keyframe_private.work_queue, owner text, resource text, due float8);
      foreach one in array queues loop
        select * into l from keyframe_private.lease_work(one, worker, max_rows, at, cursors);
        cursors := l.cursors;
        leased := leased || coalesce((
          select jsonb_agg(jsonb_build_object('work_id', w.id, 'id', w.subject)) from unnest(l.leased) w), '[]');
      end loop;
      return jsonb_build_object('leased', leased, 'cursors', cursors);
    end $$`),
);
beforeEach(() => clearWebhooks(db.sql));
beforeEach(() => db.sql`truncate keyframe_private.work`);

const queueOf = (resource: string): Queue => (resource.includes(" ") ? "copy" : "ask");

/** From due to done of the innocents' tasks, in ms, and how many of a queue were open at once. */
async function simulate(loads: Load[], innocent: { resources: string[]; ms: number; everyMs: number }, endMs = 60_000) {
  const worker = crypto.randomUUID();
  const queues = [...new Set([...loads.map(({ resource }) => resource), ...innocent.resources].map(queueOf))];
  const waiting = new Map<string, Task>();
  const delays: number[] = [];
  const open: { workId: number; end: number; task: Task }[] = [];
  const most = { ask: 0, copy: 0 };
  let done = 0; // of the loads
  let [added, cursors, made] = [[] as Task[], {}, 0];
  const add = (task: Omit<Task, "id">) => added.push({ ...task, id: crypto.randomUUID() });
  for (const [number, load] of loads.entries())
    for (let turn = 0; turn < load.each; turn++)
      for (let owner = 0; owner < load.owners; owner++)
        add({ ...load, owner: `${number} ${owner}`, due: 0, name: "load" });
  for (let now = 0; now < endMs; ) {
    while (made * innocent.everyMs <= Math.min(now, ADDED_UNTIL)) {
      const resource = innocent.resources[made % innocent.resources.length] ?? "";
      add({ owners: 1, each: 1, owner: `innocent ${made % 50}`, resource, ms: innocent.ms, due: made * innocent.everyMs, name: "innocent" }); // biome-ignore format: one line
      made += 1;
    }
    const ended = open.filter(({ end }) => end <= now);
    for (const one of ended) {
      open.splice(open.indexOf(one), 1);
      if (one.task.name === "innocent") delays.push(one.end - one.task.due);
      else {
        done += 1;
        add({ ...one.task, due: one.end + 2_000 }); // tried again
      }
    }
    for (const task of added) waiting.set(task.id, task);
    const given = added.map(({ id, owner, resource, due }) => ({ id, queue: queueOf(resource), owner, resource, due }));
    added = [];
    const [row] = await db.sql`
      select public.step(${queues}, ${worker}, ${now}, 10, ${ended.map(({ workId }) => workId)}::bigint[], ${db.sql.json(given)}, ${db.sql.json(cursors)}) as answer`;
    const answer: { leased: { work_id: number; id: string }[]; cursors: object } = row?.answer;
    const { leased } = answer;
    cursors = answer.cursors;
    for (const { work_id, id } of leased) {
      const task = waiting.get(id);
      if (!task || task.due > now) throw new Error("It leased what is not due.");
      waiting.delete(id);
      open.push({ workId: work_id, end: now + CALL_MS + (now < (task.hangsFrom ?? 0) ? QUICK_MS : task.ms), task });
    }
    for (const queue of ["ask", "copy"] as const)
      most[queue] = Math.max(most[queue], open.filter(({ task }) => queueOf(task.resource) === queue).length);
    if (made * innocent.everyMs > ADDED_UNTIL && delays.length === made) break;
    const next = Math.min(now + 100, made * innocent.everyMs, ...open.map(({ end }) => end));
    now = leased.length > 0 ? now + CALL_MS : Math.max(now + CALL_MS, next);
  }
  return { p95: quantile(delays, 0.95), count: delays.length, most, done };
}

const FRAME = { resources: ["good/model"], ms: 400, everyMs: 200 };
const models = (count: number, ms: number, prefix = "bad/model", hangsFrom = 0): Load[] =>
  Array.from({ length: count }, (_, n) => ({ owners: 60, each: 4, resource: `${prefix}-${n}`, ms, hangsFrom }));
const OTHERS = ["good/model-0", "good/model-1", "good/model-2"];

test.each<[what: string, loads: Load[], resources?: string[]]>([
  ["600 owners × 4 of it", [{ owners: 600, each: 4, resource: "bad/model", ms: 20_000 }]],
  ["600 owners × 4 outputs that take 80 s", [{ owners: 600, each: 4, resource: "host bad/model", ms: 79_000 }]],
  ["ten models that hang", models(10, 20_000)],
  ["a provider that hangs altogether", ["bad/model", "poll", "cancel", "search"].map((resource) => ({ owners: 100, each: 4, resource, ms: 20_000 }))], // biome-ignore format: one line
  ["16 quick models that hang after a second, beside three others", models(16, 20_000, "bad/model", 1_000), OTHERS],
  ["20 quick models that hang after ten seconds, beside three others", models(20, 20_000, "bad/model", 10_000), OTHERS],
  ["copies of 8 models' outputs that hang after two seconds, beside another's", models(8, 79_000, "host bad/model", 2_000), ["host good/model"]], // biome-ignore format: one line
])(
  "the load of %s → other owners' tasks of 400 ms take at most a second longer (p95)",
  async (_what, loads, resources = FRAME.resources) => {
    const { p95, count, most } = await simulate(loads, { ...FRAME, resources });
    expect(count).toBeGreaterThan(100);
    expect(p95).toBeLessThan(FRAME.ms + 1_000);
    expect([most.ask <= 96, most.copy <= 36]).toEqual([true, true]);
  },
);

test.each([1, 40])(
  "a quick model for %i owners, with no other load → at least 31 of its tasks are open at once",
  async (owners) => {
    const { most } = await simulate([{ owners, each: 400 / owners, resource: "good/model", ms: 300 }], { ...FRAME, everyMs: 5_000 }, 3_000); // biome-ignore format: one line
    expect(most.ask).toBeGreaterThanOrEqual(31);
  },
);

test("a model that takes eleven seconds → its own tasks go on too, next to a quick model", async () => {
  const { done } = await simulate([{ owners: 20, each: 4, resource: "slow/model", ms: 11_000 }], FRAME);
  expect(done).toBeGreaterThan(30);
});

const REQUEST_LIMIT_MS = 15_000;
/** How long a request takes that begins at this moment. At REQUEST_LIMIT_MS, and in 2 ms, it fails. */
type Answer = (now: number) => number;
const ANSWERS = {
  quick: () => Math.round(20 + Math.random() * 100),
  fails: () => 2,
  hangs: () => REQUEST_LIMIT_MS,
  takesFourteenSeconds: () => 14_000,
  takesFourSeconds: () => 4_000,
  hangsFromTenSecondsOn: (now) => (now < 10_000 ? 50 : REQUEST_LIMIT_MS),
} satisfies Record<string, Answer>;

/** Endpoints of owners, whose events come `atOnce`, from the moment `from` on and again and again. */
type Receivers = { owners: number; each?: number; hosts: string[]; answer: Answer; atOnce?: number; everyMs?: number; from?: (owner: number) => number }; // biome-ignore format: one line

/**
 * How long the events of the last of these wait until they are sent, in ms. Those that are not sent have waited until the end, which comes
 * before endMs if `mostSent` of them are sent.
 */
async function simulateDeliver(all: Receivers[], endMs = 17_000, mostSent?: number): Promise<number[]> {
  const request = (_id: string, name: string) => {
    if (Number(name) === all.length - 1 && ++sent === mostSent) allSent.resolve();
    const ms = all[Number(name)]?.answer(deliver.now()) ?? Number.NaN;
    return ms === 2 || ms === REQUEST_LIMIT_MS ? { ms, error: "timeout" as const } : ms;
  };
  const deliver = makeDeliver({ request });
  const allSent = Promise.withResolvers<void>();
  let sent = 0;
  const dueAt = new Map<string, number>();
  const add = async (endpoints: string[], events: number) =>
    await columnOf(
      deliver.outside(db.sql`
        with events as (
          insert into keyframe.webhook_events (type, payload)
          select 'webhook.test', '{}' from generate_series(1, ${events}::int) returning id)
        insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, next_attempt_at)
        select v.id, e.id, e.owner_id, 'webhook.test', ${deliver.at()}
        from events v, keyframe.webhook_endpoints e where e.id = any (${endpoints}) returning id`),
    );
  for (const [number, { owners, each = 1, hosts, atOnce = 2, everyMs = 5_000, from = () => 0 }] of all.entries()) {
    const endpoints = await db.sql<{ id: string; owner: number }[]>`
      with users as (
        insert into auth.users (id, email, aud, role)
        select gen_random_uuid(), gen_random_uuid() || '@keyframe.local', 'authenticated', 'authenticated'
        from generate_series(1, ${owners}::int) returning id
      ), numbered as (select id, row_number() over () - 1 as owner from users)
      insert into keyframe.webhook_endpoints (owner_id, url, description)
      select n.id, 'https://' || (${hosts}::text[])[1 + (n.owner + e) % ${hosts.length}::int], n.owner
      from numbered n, generate_series(1, ${each}::int) e
      returning id, description::int as owner`;
    for (const { id } of endpoints) deliver.name(id, String(number));
    for (const [begin, group] of Map.groupBy(endpoints, ({ owner }) => from(owner)))
      for (let at = begin; at < endMs; at += everyMs)
        deliver.clock.after(at, async () => {
          const ids = await add(
            group.map(({ id }) => id),
            atOnce,
          );
          if (number === all.length - 1) for (const id of ids) dueAt.set(id, at);
          deliver.endWait();
          void deliver.kick();
        });
  }
  void deliver.kick();
  await deliver.runUntil(Promise.race([deliver.sleep(endMs), allSent.promise]));
  expect(deliver.lines("call_failed")).toEqual([]); // each would delay what follows by a second
  return [...dueAt].map(([id, at]) => (deliver.startedAt.get(id)?.[0] ?? endMs) - at);
}

const hosts = (count: number, name: string) => Array.from({ length: count }, (_, n) => `${name}-${n}.example`);
/** Their events come once: where the receivers are slow, later ones would only wait behind these. */
const crowd = (count: number, answer: Answer, more: Partial<Receivers> = {}): Receivers => ({ owners: 600, hosts: hosts(count, answer.name), answer, everyMs: 60_000, ...more }); // biome-ignore format: one line
/** Events that come one after another, of 25 owners at ten hosts. */
const INNOCENTS: Receivers = { owners: 25, hosts: hosts(10, "good"), answer: ANSWERS.quick, atOnce: 1, from: (owner) => owner * 200 }; // biome-ignore format: one line
/** Events of one host after the other, so that each gets what it can. */
const quickAtFirst = (count: number) => crowd(count, (now) => (now < 2_000 ? 50 : REQUEST_LIMIT_MS), { owners: 400, everyMs: 1_000, from: (owner) => (owner % count) * 50 }); // biome-ignore format: one line
const SHARED = hosts(1, "shared");
/** Twenty endpoints each of so many owners, each at a host of its own. */
const ownHosts = (owners: number, answer: Answer): Receivers[] =>
  Array.from({ length: owners }, (_, owner) => ({
    owners: 1,
    each: 20,
    hosts: hosts(20, `own-${owner}`),
    answer,
    everyMs: 2_500,
  }));
const hangsFromTwoSecondsOn: Answer = (now) => (now < 2_000 ? 50 : REQUEST_LIMIT_MS);
const takesAlmostThreeSeconds: Answer = () => 2_900;

/** Capacity is free at once, so an event waits only for the next claim, at most 100 ms. */
const NEXT_CLAIM_MS = 110;

test.each<[what: string, loads: Receivers[], innocents?: Partial<Receivers>, endMs?: number]>([
  ["one host that hangs", [crowd(1, ANSWERS.hangs)]],
  ["one host that answers after fourteen seconds", [crowd(1, ANSWERS.takesFourteenSeconds)]],
  ["one host that takes four seconds", [crowd(1, ANSWERS.takesFourSeconds)]],
  ["three quick hosts that hang after ten seconds", [crowd(3, ANSWERS.hangsFromTenSecondsOn, { everyMs: 5_000 })]],
  ["ten hosts that hang", [crowd(10, ANSWERS.hangs)]],
  ["twenty hosts that hang, fail and are quick", Object.values(ANSWERS).map((answer) => crowd(3, answer, { owners: 100, everyMs: 5_000 }))], // biome-ignore format: one line
  ["two quick hosts that hang after two seconds", [quickAtFirst(2)], { hosts: hosts(1, "good"), everyMs: 2_000 }],
  ["eight quick hosts that hang after two seconds", [quickAtFirst(8)], { hosts: hosts(3, "good"), everyMs: 2_000 }],
  ["twenty endpoints of one owner that hang, before others begin there", [crowd(1, ANSWERS.hangs, { owners: 1, each: 20, hosts: SHARED, everyMs: 5_000 })], { owners: 170, hosts: SHARED, from: (owner) => 11_000 + owner * 30 }], // biome-ignore format: one line
  ["600 endpoints that answer at once or after fourteen seconds at the same host", [crowd(1, () => (Math.random() < 0.5 ? 10 : 14_000), { hosts: SHARED, everyMs: 5_000, from: () => 6_000 })], { owners: 12, hosts: SHARED, everyMs: 1_000, from: (owner) => owner * 80 }], // biome-ignore format: one line
  // The others' endpoints have had one quick answer by then.
  ["2,000 endpoints of 100 owners that hang at the same host", [crowd(1, ANSWERS.hangs, { owners: 100, each: 20, hosts: SHARED, from: (owner) => 6_000 + owner * 50 })], { hosts: SHARED }], // biome-ignore format: one line
  ["400 quick hosts of twenty owners that hang after two seconds", ownHosts(20, hangsFromTwoSecondsOn), {}, 10_000],
  ["200 new hosts of ten owners that hang, before others begin", ownHosts(10, ANSWERS.hangs), { owners: 50, hosts: hosts(50, "new"), everyMs: 60_000, from: (owner) => 1_000 + owner * 140 }, 9_000], // biome-ignore format: one line
  ["twenty hosts that take 2.9 seconds", [crowd(20, takesAlmostThreeSeconds, { everyMs: 5_000 })]],
])(
  "events for %s → other owners' events are sent with the next claim (p95)",
  async (_what, loads, innocents, endMs) => {
    const waits = await simulateDeliver([...loads, { ...INNOCENTS, ...innocents }], endMs);
    expect(waits.length).toBeGreaterThan(45);
    expect(quantile(waits, 0.95)).toBeLessThan(NEXT_CLAIM_MS);
  },
);

test("two events for each of 1,000 owners at one host at once → all are sent within 1.3 seconds", async () => {
  const waits = await simulateDeliver([crowd(1, ANSWERS.quick, { owners: 1_000 })], 4_000, 2_000);
  expect(waits).toHaveLength(2_000);
  expect(Math.max(...waits)).toBeLessThan(1_300);
});

test("5,000 quick events of one owner next to 600 owners at twenty hosts that hang → at most 1.6 times as long as alone", async () => {
  const flood: Receivers = { owners: 1, each: 8, hosts: hosts(1, "good"), answer: () => 20, atOnce: 625, everyMs: 60_000, from: () => 1_000 }; // biome-ignore format: one line
  const took = async (beside: Receivers[]) => Math.max(...(await simulateDeliver([...beside, flood], 17_000, 5_000)));
  const alone = await took([]);
  await clearWebhooks(db.sql);
  const beside = await took([crowd(20, ANSWERS.hangs)]);
  expect(beside).toBeLessThan(1.6 * alone);
});

test("an owner switches hanging endpoints off and on → events for the owner's quick endpoint are sent at once", async () => {
  const deliver = makeDeliver({ request: (_id, endpoint) => (endpoint === "quick" ? 10 : 14_000) });
  const owner = await db.addUser();
  for (let endpoints = 0; endpoints < 5; endpoints++) await deliver.add("hanging", owner, 60);
  const quick = await deliver.add("quick", owner, 0, { url: "https://good.example" });
  const enable = (enabled: boolean) => db.sql`
    update keyframe.webhook_endpoints set enabled = ${enabled} where owner_id = ${owner} and id <> ${quick.id}`;
  for (let at = 500; at < 12_000; at += 500)
    deliver.clock.after(at, () => void deliver.outside(enable(at % 1_000 === 0)));
  const events: { id: string; at: number }[] = [];
  for (let at = 250; at < 16_000; at += 750)
    deliver.clock.after(at, () => void deliver.deliver(quick.id).then((event) => events.push(event)));
  await deliver.runFor(17_000);
  expect(events.length).toBeGreaterThan(15);
  expect(Math.max(...events.map(({ id, at }) => deliver.startOf(id) - at))).toBeLessThan(300);
  expect(deliver.mostOpen("hanging")).toBeLessThanOrEqual(5 * 8);
});

test("10,000 deliveries to a quick endpoint → sent in order, several between calls; another endpoint's event is sent at once", async () => {
  const deliver = makeDeliver();
  const many = await deliver.add("many", null, 10_000, { standing: "quick", max_in_flight: 100 });
  const other = await deliver.add("other", null, 0);
  let event = { id: "", at: 0 };
  deliver.clock.after(300, async () => {
    event = await deliver.deliver(other.id);
  });
  await deliver.runUntil(deliver.kick());
  const order = [...deliver.startedAt.keys()].filter((id) => id !== event.id);
  expect(order).toEqual(many.deliveries);
  expect(isSentOnce(deliver.startedAt)).toBe(true);
  expect(deliver.mostOpen("many")).toBe(100);
  expect(deliver.startOf(event.id) - event.at).toBeLessThan(300);
});
