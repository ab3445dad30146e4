import { beforeEach, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { claim, type Task } from "../support/database/calls.ts";
import { addWorld, seedPrediction, type World } from "../support/database/predictions.ts";
import { until } from "../support/until.ts";

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
/** The call is under way on its own connection, and holds what says that somebody waits. */
const untilWaiting = () =>
  until("a call that waits", async () => {
    const [row] = await db.sql<{ waits: boolean }[]>`
      select not pg_try_advisory_xact_lock(hashtextextended('keyframe generate waits', 0)) as waits`;
    return row?.waits === true;
  });

test("nothing due → the call comes back empty when its time is up", async () => {
  const { ms, tasks } = await timed(200);
  expect(tasks).toEqual([]);
  expect(ms).toBeGreaterThan(150);
  expect(ms).toBeLessThan(LONG_MS);
});

test("something due already → no wait", async () => {
  const { id } = await due();
  const { ms, tasks } = await timed(LONG_MS);
  expect(tasks).toMatchObject([{ id }]);
  expect(ms).toBeLessThan(LONG_MS / 2);
});

test("something is committed meanwhile → the waiting call brings it, its first submit, with nothing to search for", async () => {
  const waiting = timed(LONG_MS);
  await untilWaiting();
  const { id } = await due();
  const { ms, tasks } = await waiting;
  expect(tasks).toMatchObject([{ id, task: "submit", attempt: 1, search_since: null }]);
  expect(ms).toBeLessThan(LONG_MS / 2);
});

test("something becomes due meanwhile → the waiting call brings it, leased from then on", async () => {
  const { id } = await due(new Date(Date.now() + 300));
  const { ms, tasks } = await timed(LONG_MS);
  expect(tasks).toMatchObject([{ id }]);
  expect(ms).toBeGreaterThan(200);
  expect(ms).toBeLessThan(LONG_MS / 2);
  const [row] = await db.sql<{ left: number }[]>`
    select extract(epoch from next_attempt_at - updated_at)::float8 as left from keyframe.predictions where id = ${id}`;
  expect(row?.left).toBe(60);
});

test("a second call that would wait → comes back at once: one connection is enough for waiting", async () => {
  const first = timed(1_000);
  await untilWaiting();
  const second = await timed(LONG_MS);
  expect(second.ms).toBeLessThan(LONG_MS / 2);
  expect((await first).tasks).toEqual([]);
});
