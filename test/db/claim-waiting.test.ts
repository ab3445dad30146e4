import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { claim, type Task } from "../support/database/calls.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { untilACallWaits } from "../support/database/waiting.ts";

const db = useDatabase();
let world: World;
beforeEach(async () => {
  world = await addWorld(db);
});

/** Far more than anything here takes: a call that takes so long has waited to its end. */
const LONG_MS = 7_000;

async function timed(waitMs: number): Promise<{ ms: number; tasks: Task[] }> {
  const start = performance.now();
  const tasks = await claim(db.sql, 10, 60, 0, waitMs);
  return { ms: performance.now() - start, tasks };
}
const due = (at = new Date()) =>
  seedPrediction(db.sql, world, { columns: { attempt: 0, lease_token: null, next_attempt_at: at } });

test("nothing due → the call comes back empty when its time is up", async () => {
  // On a busy machine a slow check can end the wait before its time (keyframe_private.wait_for_due), but not each time.
  const calls = [];
  for (let time = 0; time < 5; time++) calls.push(await timed(200));
  expect(calls.flatMap(({ tasks }) => tasks)).toEqual([]);
  expect(Math.max(...calls.map(({ ms }) => ms))).toBeGreaterThan(150);
  expect(Math.min(...calls.map(({ ms }) => ms))).toBeLessThan(LONG_MS);
});

test("something due already → no wait", async () => {
  const { id } = await due();
  const { ms, tasks } = await timed(LONG_MS);
  expect(tasks).toMatchObject([{ id }]);
  expect(ms).toBeLessThan(LONG_MS / 2);
});

test("something is committed meanwhile → the waiting call brings it, its first submit, with nothing to search for", async () => {
  const waiting = timed(LONG_MS);
  await untilACallWaits(db.sql);
  const { id } = await due();
  const { ms, tasks } = await waiting;
  expect(tasks).toMatchObject([{ id, task: "submit", attempt: 1, search_since: null }]);
  expect(ms).toBeLessThan(LONG_MS / 2);
});

test("something becomes due meanwhile → the waiting call brings it, leased from then on", async () => {
  const at = Date.now() + 300;
  const { id } = await due(new Date(at));
  const { ms, tasks } = await timed(LONG_MS);
  expect(tasks).toMatchObject([{ id }]);
  expect(Date.now()).toBeGreaterThanOrEqual(at);
  expect(ms).toBeLessThan(LONG_MS / 2);
  const [row] = await db.sql<{ left: number }[]>`
    select extract(epoch from next_attempt_at - updated_at)::float8 as left from keyframe.predictions where id = ${id}`;
  expect(row?.left).toBe(60);
});

test("a second call that would wait → comes back at once: one connection is enough for waiting", async () => {
  const first = timed(1_000);
  await untilACallWaits(db.sql);
  const second = await timed(LONG_MS);
  expect(second.ms).toBeLessThan(LONG_MS / 2);
  expect((await first).tasks).toEqual([]);
});
