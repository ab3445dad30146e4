import { pause } from "../../../shared/platform/retry.ts";
import { waitUntil } from "../measure.ts";
import { wallClock } from "./receiver.ts";
import { ENDPOINTS, type Scene } from "./scene.ts";
import type { Way } from "./ways.ts";

/** A worker that is awake may have timers to run first. */
const AWAKE_MS = 50;

/** A peer stands still outside of its turn: it polls, and a job of one graphile-worker wakes the runners of all. */
export async function inTurn<Value>({ name, peer, isOpen }: Way, work: () => Promise<Value>): Promise<Value> {
  peer?.resume();
  await pause(AWAKE_MS);
  const value = await work();
  await waitUntil(async () => !(await isOpen()), { what: `${name}: the outcomes are recorded`, everyMs: 5 });
  peer?.pause();
  return value;
}

/** Counts the attempts that are recorded from now on. */
async function openCount({ sql }: Scene, { attempts }: Way): Promise<() => Promise<number>> {
  if (attempts === null) return () => Promise.resolve(Number.NaN);
  const [last] = await sql<{ id: string }[]>`select coalesce(max(id), 0) as id from ${sql(attempts)}`;
  return async () => {
    const [found] = await sql<
      { rows: number }[]
    >`select count(*)::int as rows from ${sql(attempts)} where id > ${last?.id ?? 0}`;
    return found?.rows ?? Number.NaN;
  };
}

/** Commits events at once. Returns ms from COMMIT until all are received and every outcome is recorded. */
export async function runBurst(scene: Scene, way: Way, events: number): Promise<number> {
  const { receiver, secrets } = scene;
  const countAttempts = await openCount(scene, way);
  receiver.begin();
  const committed = await way.commit(events);
  await receiver.waitFor(events);
  // Polled only then, so that polling does not slow the delivery down.
  await waitUntil(async () => !(await way.isOpen()), { what: "the outcomes are recorded", everyMs: 5 });
  const took = wallClock() - committed;
  await receiver.check(events, secrets);
  const attempts = await countAttempts();
  if (way.attempts !== null && attempts !== events)
    throw new Error(`${way.name} has recorded ${attempts} attempts of ${events}.`);
  return took;
}

/** Commits one event. Returns ms from COMMIT to its receipt. */
export async function sendOne({ receiver }: Scene, way: Way): Promise<number> {
  receiver.begin();
  const committed = await way.commit(1);
  return (await receiver.waitFor(1)) - committed;
}

/** Of each endpoint, more than a worker sends at once. */
const EVENTS_PAST = 60;

/** Throws unless events go past one endpoint that does not answer, and its own are sent again after its 503, each attempt recorded. */
export async function checkIsolation(scene: Scene, way: Way): Promise<void> {
  const { receiver } = scene;
  const countAttempts = await openCount(scene, way);
  receiver.begin();
  const release = receiver.hold(0);
  try {
    await way.commit(EVENTS_PAST * ENDPOINTS);
    const passed = async () => receiver.answered() >= EVENTS_PAST * (ENDPOINTS - 1);
    await waitUntil(passed, { what: `${way.name}: others' events come`, everyMs: 5, timeoutMs: 30_000 });
  } finally {
    release();
  }
  await waitUntil(async () => !(await way.isOpen()), { what: `${way.name} sends again`, everyMs: 100 });
  const [attempts, requests] = [await countAttempts(), receiver.requests()];
  if (attempts < requests || attempts <= EVENTS_PAST * ENDPOINTS)
    throw new Error(`${way.name} has recorded ${attempts} attempts of ${requests}.`);
}
