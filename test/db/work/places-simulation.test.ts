import { beforeAll, beforeEach, expect, test } from "vitest";
import { quantile } from "../../../lab/bench/measure.ts";
import { useDatabase } from "../../support/database/clone-database.ts";

// A minute of one worker's claims (lease_work) in simulated time: how long the tasks of other owners wait while some hang.

/** `hangsFrom`: until then they take QUICK_MS. */
type Load = { owners: number; each: number; resource: string; ms: number; hangsFrom?: number };
type Task = Load & { owner: string; due: number; name: string };
type Queue = "ask" | "copy" | "deliver";

const QUICK_MS = 300;
const CALL_MS = 8;
const [ADDED_UNTIL, END_MS] = [25_000, 60_000];

const db = useDatabase();
beforeAll(() =>
  db.sql.unsafe(`
    create function public.step(worker uuid, at_ms integer, max_rows integer, done bigint[], added jsonb, cursors jsonb)
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
      select a.queue, 'submit', gen_random_uuid(), md5(a.owner)::uuid, md5(a.owner)::uuid, a.resource,
        case when a.due <= at_ms then 'ready' else 'scheduled' end::keyframe_private.work_state,
        timestamptz '2026-01-01' + make_interval(secs => a.due / 1000.0)
      from jsonb_to_recordset(added) a (queue keyframe_private.work_queue, owner text, resource text, due float8);
      foreach one in array array['copy', 'ask']::keyframe_private.work_queue[] loop
        select * into l from keyframe_private.lease_work(one, worker, '90 s', max_rows, at,
          coalesce(cursors -> one::text ->> 0, ''), coalesce((cursors -> one::text ->> 1)::uuid, '00000000-0000-0000-0000-000000000000'));
        cursors := cursors || jsonb_build_object(one::text, jsonb_build_array(l.cursor_resource, l.cursor_lane));
        leased := leased || coalesce((
          select jsonb_agg(jsonb_build_object('id', w.id, 'owner', w.owner_id, 'resource', w.resource, 'due', w.due_ms))
          from (select u.id, u.owner_id, u.resource, 0 as due_ms from unnest(l.leased) u) w), '[]');
      end loop;
      return jsonb_build_object('leased', leased, 'cursors', cursors);
    end $$`),
);
beforeEach(() => db.sql`truncate keyframe_private.work`);

const queueOf = (resource: string): Queue => (resource.includes(" ") ? "copy" : "ask");

/** From due to done of the innocents' tasks, in ms, and how many of a queue were open at once. */
async function simulate(loads: Load[], innocent: { resources: string[]; ms: number; everyMs: number }) {
  const worker = crypto.randomUUID();
  const waiting = new Map<string, Task[]>(); // of an owner and a resource, in the order in which they were added
  const delays: number[] = [];
  const open: { id: number; end: number; task: Task }[] = [];
  const most = { ask: 0, copy: 0 };
  let done = 0; // of the loads
  let [added, cursors, made] = [[] as Task[], {}, 0];
  const keyOf = new Map<string, string>();
  const add = (task: Task) => added.push(task);
  for (const [number, load] of loads.entries())
    for (let turn = 0; turn < load.each; turn++)
      for (let owner = 0; owner < load.owners; owner++)
        add({ ...load, owner: `${number} ${owner}`, due: 0, name: "load" });
  for (let now = 0; now < END_MS; ) {
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
    for (const task of added) {
      const owner = keyOf.get(task.owner) ?? (await uuidOf(task.owner));
      keyOf.set(task.owner, owner);
      const key = `${owner} ${task.resource}`;
      waiting.set(key, [...(waiting.get(key) ?? []), task]);
    }
    const given = added.map(({ owner, resource, due }) => ({ queue: queueOf(resource), owner, resource, due }));
    added = [];
    const [row] = await db.sql`
      select public.step(${worker}, ${now}, 10, ${ended.map(({ id }) => id)}::bigint[], ${db.sql.json(given)}, ${db.sql.json(cursors)}) as answer`;
    const answer: { leased: { id: number; owner: string; resource: string }[]; cursors: object } = row?.answer;
    const { leased } = answer;
    cursors = answer.cursors;
    for (const { id, owner, resource } of leased) {
      const list = waiting.get(`${owner} ${resource}`) ?? [];
      const task = list.splice(
        list.findIndex(({ due }) => due <= now),
        1,
      )[0];
      if (!task) throw new Error("It leased what is not due.");
      open.push({ id, end: now + CALL_MS + (now < (task.hangsFrom ?? 0) ? QUICK_MS : task.ms), task });
    }
    for (const queue of ["ask", "copy"] as const)
      most[queue] = Math.max(most[queue], open.filter(({ task }) => queueOf(task.resource) === queue).length);
    if (made * innocent.everyMs > ADDED_UNTIL && delays.length === made) break;
    const next = Math.min(now + 100, made * innocent.everyMs, ...open.map(({ end }) => end));
    now = leased.length > 0 ? now + CALL_MS : Math.max(now + CALL_MS, next);
  }
  return { p95: quantile(delays, 0.95), count: delays.length, most, done };
}
const uuidOf = async (text: string) => String((await db.sql`select md5(${text})::uuid as id`)[0]?.id);

const FRAME = { resources: ["good/model"], ms: 400, everyMs: 200 };
const models = (count: number, ms: number, prefix = "bad/model", hangsFrom = 0): Load[] =>
  Array.from({ length: count }, (_, n) => ({ owners: 60, each: 4, resource: `${prefix}-${n}`, ms, hangsFrom }));
const OTHERS = ["good/model-0", "good/model-1", "good/model-2"];

test.each<[what: string, loads: Load[], resources?: string[]]>([
  ["nine owners × 4 tasks of a model that hangs", [{ owners: 9, each: 4, resource: "bad/model", ms: 20_000 }]],
  ["600 owners × 4 of it", [{ owners: 600, each: 4, resource: "bad/model", ms: 20_000 }]],
  ["600 owners × 4 outputs that take 80 s", [{ owners: 600, each: 4, resource: "host bad/model", ms: 79_000 }]],
  ["ten models that hang", models(10, 20_000)],
  ["a provider that hangs altogether", ["bad/model", "poll", "cancel", "search"].map((resource) => ({ owners: 100, each: 4, resource, ms: 20_000 }))], // biome-ignore format: one line
  ["a quick model that hangs after ten seconds", models(1, 20_000, "bad/model", 10_000)],
  ["16 quick models that hang after a second, beside three others", models(16, 20_000, "bad/model", 1_000), OTHERS],
  ["20 quick models that hang after ten seconds, beside three others", models(20, 20_000, "bad/model", 10_000), OTHERS],
  ["copies of 8 models' outputs that hang after two seconds, beside another's", models(8, 79_000, "host bad/model", 2_000), ["host good/model"]], // biome-ignore format: one line
])(
  "%s → others' tasks of 400 ms take at most a second longer (p95)",
  async (_what, loads, resources = FRAME.resources) => {
    const { p95, count, most } = await simulate(loads, { ...FRAME, resources });
    expect(count).toBeGreaterThan(100);
    expect(p95).toBeLessThan(FRAME.ms + 1_000);
    expect([most.ask <= 96, most.copy <= 36]).toEqual([true, true]);
  },
);

test.each([1, 40])("a quick model for %i owners alone → at least 31 of its tasks are open at once", async (owners) => {
  const { most } = await simulate([{ owners, each: 400 / owners, resource: "good/model", ms: 300 }], { ...FRAME, everyMs: 5_000 }); // biome-ignore format: one line
  expect(most.ask).toBeGreaterThanOrEqual(31);
});

test("a model that takes eleven seconds → its own tasks go on, too", async () => {
  const { done } = await simulate([{ owners: 20, each: 4, resource: "slow/model", ms: 11_000 }], FRAME);
  expect(done).toBeGreaterThan(30);
});
