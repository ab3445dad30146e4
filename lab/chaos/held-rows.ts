import type { Verdict } from "./invariants/invariants.ts";
import { createProjects } from "./scenarios.ts";
import { newUser } from "./users.ts";
import { pause } from "../../shared/platform/pause.ts";
import { retry, type World } from "./world.ts";

/** While rows of another account are held, 95 of 100 frames end within this time from their start. */
const FRAME_P95_MS = 8_000;

const HOLDS = 3;
/** Longer than all tries of a call but shorter than a lease: what waits must be recorded afterwards, not lost. */
const HOLD_MS = 10_000;
const FREE_MS = 3_000;
const FRAME_EVERY_MS = 1_000;
/** More than a worker does at a time. */
const FRAMES_OF_HELD = 40;
/** By when every frame must have ended: later than a lease and a sweep. */
const END_MS = 150_000;

/**
 * Somebody's transaction holds everything of one account again and again, while its frames and another user's are generated. The other
 * user's frames must end in time, and the account's afterwards, each with one provider run. Call it on a stack without other faults.
 */
export async function measureHeldRows(
  world: World,
  seed: number,
  say: (line: string) => void,
): Promise<{ verdict: Verdict; figures: Record<string, number> }> {
  const { sql } = world;
  const [held, innocent] = [await newUser(world, seed, 9_001), await newUser(world, seed, 9_002)];
  await sql`update keyframe_private.settings set max_active_per_owner = 100`;
  const projects = (await Promise.all([held, innocent].map(({ userId }) => createProjects(world, userId, 1)))).flat();
  const [ofHeld = "", ofInnocent = ""] = projects;
  let isOver = false;
  const starting = (async () => {
    while (!isOver) {
      await startFrames(sql, ofInnocent, 1);
      await pause(FRAME_EVERY_MS);
    }
  })();
  for (let hold = 0; hold < HOLDS; hold++) {
    await startFrames(sql, ofHeld, FRAMES_OF_HELD);
    await pause(FREE_MS); // then some are being submitted, some run, and some are copied
    await retry(() => holdAll(sql, held.userId));
  }
  isOver = true;
  await starting;
  await untilEnded(sql, projects);
  const delays = await sql<{ ms: number }[]>`
    select (extract(epoch from completed_at - created_at) * 1000)::int as ms from keyframe.predictions
    where project_id = ${ofInnocent} and completed_at is not null order by 1`;
  const p95 = delays[Math.ceil(0.95 * delays.length) - 1]?.ms ?? Number.NaN;
  const wrong = await sql<{ broken: string }[]>`
    select format('prediction %s is %s (%s) and has %s provider runs', p.id, p.status, p.error_code, count(r.provider_prediction_id)) as broken
    from keyframe.predictions p left join keyframe_private.provider_submits r on r.prediction_id = p.id
    where p.project_id in ${sql(projects)} group by p.id having p.status <> 'succeeded' or count(r.provider_prediction_id) <> 1`;
  await sql`update keyframe_private.settings set max_active_per_owner = default`;
  for (const { userId } of [held, innocent]) await sql`delete from auth.users where id = ${userId}`;
  const what = "an open transaction that holds all rows of an account";
  say(
    `${what}: another user's frames end within ${p95} ms (p95), the slowest in ${delays.at(-1)?.ms} ms, of ${delays.length}`,
  );
  return {
    figures: { [`another user's frames, p95 in ms: ${what}`]: p95 },
    verdict: {
      name: "held_rows",
      sentence: `with ${what}, another user's frames end within ${FRAME_P95_MS} ms (p95), and the account's afterwards, each paid once`,
      broken: [
        ...(p95 < FRAME_P95_MS ? [] : [`the p95 of ${delays.length} frames is ${p95} ms`]),
        ...wrong.map(({ broken }) => broken),
      ],
    },
  };
}

const startFrames = (sql: World["sql"], project: string, count: number): Promise<unknown> => sql`
  insert into keyframe.predictions (project_id, step, input)
  select ${project}, 'first-frame', jsonb_build_object('prompt', 'A harbour at dawn, take ' || gen_random_uuid()) from generate_series(1, ${count}::int)`;

/** What somebody can hold of an account, and of what all share. */
async function holdAll(sql: World["sql"], owner: string): Promise<void> {
  await sql.begin(async (open) => {
    await open`select from keyframe.projects where owner_id = ${owner} for update`;
    await open`select from keyframe.predictions where owner_id = ${owner} order by id for update`;
    await open`select keyframe_private.take_lock('slots', ${owner})`;
    await open`select from keyframe_private.provider_submits where owner_id = ${owner} for update`;
    await open`select from keyframe_private.daily_costs for update`;
    await open`select from auth.users where id = ${owner} for update`;
    await open`update keyframe.models set notes = notes`;
    await open`update keyframe_private.settings set max_failures = max_failures`;
    await pause(HOLD_MS);
  });
}

async function untilEnded(sql: World["sql"], projects: string[]): Promise<void> {
  const end = performance.now() + END_MS;
  const open = () => sql`select from keyframe.predictions where project_id in ${sql(projects)} and is_active`;
  while (performance.now() < end && (await open()).count > 0) await pause(200);
}
