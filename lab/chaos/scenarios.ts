import type postgres from "postgres";
import { pause } from "../../shared/platform/retry.ts";
import { HEAVY_USER } from "./heavy-user.ts";
import type { Behaviour, ReceiverHost } from "./receivers.ts";
import type { Scenario } from "./scenario.ts";
import { retry, type World } from "./world.ts";

/** How much later 95 of 100 frames of others may end. */
const FRAME_LATER_MS = 1_000;
/** The same of events, when others' slow endpoints are at the same host. */
const SHARED_HOST_LATER_MS = 3_000;
/** Not the default, which the other users' frames have. */
const OTHER_MODEL = "bytedance/seedream-4";

export const SCENARIOS: Record<string, Scenario> = {
  slow_owners: {
    sentence:
      "a hundred accounts with twenty endpoints each that answer after fourteen seconds, whose events come one account after another, then all at once",
    run: async (world, over) => {
      const owners = await addOwners(world, 100, 20, "takes_fourteen_seconds");
      for (const owner of owners) {
        if (over.aborted) break;
        await createProjects(world, [owner], 2);
        await pause(100);
      }
      await createProjects(world, owners, 2);
      return [];
    },
  },
  slow_host: {
    sentence: "six hundred accounts with one endpoint each at one host that answers after fourteen seconds, twice",
    lastsMs: 30_000,
    prepare: (world) => addOwners(world, 600, 1, "takes_fourteen_seconds", { host: "localhost" }),
    run: async (world, over) => {
      const rows = await world.sql<{ owner: string }[]>`
        select e.owner_id as owner from keyframe.webhook_endpoints e where e.url like 'http://localhost:%' limit 600`;
      const owners = rows.map(({ owner }) => owner);
      for (let time = 0; time < 2; time++) {
        await createProjects(world, owners, 1);
        await pause(15_000, over);
      }
      return [];
    },
  },
  quick_and_slow_in_turn: {
    sentence:
      "six hundred accounts with one endpoint each, at the host of the other users', that answer at once or after fourteen seconds",
    lastsMs: 50_000,
    laterMs: SHARED_HOST_LATER_MS,
    run: async (world, over) => {
      const owners = await addOwners(world, 600, 1, "takes_fourteen_seconds_or_none");
      while (!over.aborted) {
        await createProjects(world, owners, 1);
        await pause(8_000, over);
      }
      return [];
    },
  },
  killed_deliver: {
    sentence:
      "six hundred accounts with one endpoint each, at the host of the other users', that answer after fourteen seconds, and a deliver that is killed every ten seconds",
    lastsMs: 50_000,
    laterMs: SHARED_HOST_LATER_MS,
    prepare: (world) => addOwners(world, 600, 1, "takes_fourteen_seconds"),
    run: async (world, over) => {
      const rows = await world.sql<{ owner: string }[]>`
        select owner_id as owner from keyframe.webhook_endpoints where owner_id is not null order by created_at limit 600`;
      while (!over.aborted) {
        await createProjects(
          world,
          rows.map(({ owner }) => owner),
          1,
        );
        await pause(10_000, over);
        world.stack.children.get("keyframe-deliver")?.kill("SIGKILL");
      }
      return [];
    },
  },
  large_events: {
    sentence:
      "five accounts with twenty endpoints each, to which two thousand deliveries of sixteen kilobytes are due at once",
    run: async ({ sql, ...world }) => {
      const owners = await addOwners({ sql, ...world }, 5, 20, "well");
      await sql`
        insert into keyframe.projects (owner_id, title, text_prompt)
        select owner, 'Large', repeat('😀', 4000) from unnest(${list(owners)}::text::uuid[]) owner, generate_series(1, 20)`;
      return [];
    },
  },
  crowd: {
    sentence: "a thousand accounts with four endpoints each, to which forty thousand deliveries are due at once",
    laterMs: 2_000,
    health: "ok",
    prepare: async (world) => {
      await createProjects(world, await addOwners(world, 1_000, 4, "well"), 10);
      await world.sql`update keyframe.webhook_deliveries set next_attempt_at = now() + interval '1 day' where status = 'pending'`;
    },
    run: async ({ sql }) => {
      await sql`update keyframe.webhook_deliveries set next_attempt_at = now() where status = 'pending'`;
      return [];
    },
  },
  held_rows: {
    sentence: "a transaction that holds every row of an account, every model and the settings for ten seconds, twice",
    startsFrames: true,
    lastsMs: 30_000,
    laterMs: 4_500,
    run: async (world) => {
      const { sql } = world;
      const [owner = ""] = await addOwners(world, 1, 1, "well");
      const [project = ""] = await createProjects(world, [owner], 1);
      await sql`update keyframe_private.settings set max_active_per_owner = 100`;
      for (let hold = 0; hold < 2; hold++) {
        for (let frame = 0; frame < FRAMES_OF_HELD; frame++) {
          await startFrame(world, project);
          await pause(HELD_EVERY_MS); // in the end some are being submitted, some run, and some are copied
        }
        await retry(() => holdOpen(world, (open) => holdAll(open, owner)));
      }
      await sql`update keyframe_private.settings set max_active_per_owner = default`;
      const end = performance.now() + END_MS;
      const active = () => sql`select from keyframe.predictions where project_id = ${project} and completed_at is null`;
      while (performance.now() < end && (await active()).count > 0) await pause(200);
      const wrong = await sql<{ broken: string }[]>`
        select format('prediction %s is %s (%s) and has %s provider runs', p.id, p.status, p.error_code, count(r.provider_prediction_id)) as broken
        from keyframe.predictions p left join keyframe_private.provider_submits r on r.prediction_id = p.id
        where p.project_id = ${project} group by p.id having p.status <> 'succeeded' or count(r.provider_prediction_id) <> 1`;
      return wrong.map(({ broken }) => broken);
    },
  },
  hanging_model: {
    sentence: "650 accounts whose creates hang at one model, beginning with a new process of generate",
    startsFrames: true,
    lastsMs: 30_000, // generate restarts in this time
    laterMs: FRAME_LATER_MS,
    health: new RegExp(
      `^Much of the work that generate has leased waits for something slow: \\d+ of \\d+ for ${OTHER_MODEL}`,
    ),
    run: (world, over) => startBadFrames(world, "[[fault:timeout=99]]", 50, 20, over),
  },
  slow_outputs: {
    sentence:
      "a hundred accounts whose outputs take eighty seconds at one model, beginning with a new process of generate",
    startsFrames: true,
    lastsMs: 30_000, // generate restarts in this time
    laterMs: FRAME_LATER_MS,
    run: (world, over) => startBadFrames(world, "[[fault:output_slow=80000]]", 9, 3, over),
  },
  ...HEAVY_USER,
};

/** The names for `--scenarios`. */
export const SCENARIO_NAMES: readonly string[] = Object.keys(SCENARIOS);

/** Ends generate, then `first` accounts start four frames each at once, and each second `more` others one each. */
async function startBadFrames(
  world: World,
  fault: string,
  first: number,
  more: number,
  over: AbortSignal,
): Promise<string[]> {
  const { sql, stack } = world;
  const start = async (owners: string[], each: number) => {
    const projects = await createProjects(world, owners, 1);
    await sql`
      insert into keyframe.predictions (project_id, step, model, input)
      select project, 'first-frame', ${OTHER_MODEL}, jsonb_build_object('prompt', ${fault} || ' A harbour, take ' || gen_random_uuid())
      from unnest(${list(projects)}::text::uuid[]) project, generate_series(1, ${each}::int)`;
  };
  stack.children.get("keyframe-generate")?.kill("SIGKILL");
  await start(await addOwners(world, first, 0, "well"), 4);
  while (!over.aborted) {
    await pause(1_000, over);
    await start(await addOwners(world, more, 0, "well"), 1);
  }
  return [];
}

/** Longer than all tries of a call but shorter than a lease: what waits must be recorded afterwards, not lost. */
const HOLD_MS = 10_000;
/** More than the Data API has connections here (20), but not all at once: the work itself would delay the others. */
const FRAMES_OF_HELD = 24;
const HELD_EVERY_MS = 50;
/** The time by which every frame must have ended: later than a lease and a sweep. */
const END_MS = 150_000;

/** Does the work in a transaction that is taken back. */
async function holdOpen({ sql }: World, work: (sql: postgres.ReservedSql) => Promise<unknown>): Promise<void> {
  const connection = await sql.reserve();
  try {
    await connection`begin`;
    await work(connection);
  } finally {
    await connection`rollback`;
    connection.release();
  }
}

/** The locks that a transaction can hold on an account, and on shared rows. */
async function holdAll(open: postgres.Sql, owner: string): Promise<void> {
  await open`select from keyframe.projects where owner_id = ${owner} for update`;
  await open`select from keyframe.predictions where owner_id = ${owner} order by id for update`;
  await open`select keyframe_private.acquire_lock('slots', ${owner})`;
  await open`select from keyframe_private.provider_submits where owner_id = ${owner} for update`;
  await open`select from keyframe_private.cost_changes for update`;
  await open`select from keyframe_private.cost_sums for update`;
  await open`select from auth.users where id = ${owner} for update`;
  await open`update keyframe.models set notes = notes`;
  await open`update keyframe_private.settings set max_failures = max_failures`;
  await pause(HOLD_MS);
}

/** Accounts with endpoints, by SQL: sign-up would take minutes. Their hooks begin with the mark. Returns their ids. */
export async function addOwners(
  { sql, receivers }: World,
  owners: number,
  endpoints: number,
  behaviour: Behaviour,
  { mark = crypto.randomUUID(), host }: { mark?: string; host?: ReceiverHost } = {},
): Promise<string[]> {
  const hooks = Array.from({ length: endpoints }, (_, j) => `${mark}-${j}`);
  for (const hook of hooks) receivers.setBehaviour(hook, behaviour);
  const rows = await sql<{ id: string }[]>`
    insert into auth.users (id, email)
    select gen_random_uuid(), 'scenario-' || gen_random_uuid() || '@keyframe.local' from generate_series(1, ${owners}::int)
    returning id`;
  const ids = rows.map(({ id }) => id);
  await sql`
    insert into keyframe.webhook_endpoints (owner_id, url)
    select owner, url from unnest(${list(ids)}::text::uuid[]) owner, unnest(${list(hooks.map((hook) => receivers.urlOf(hook, 1, host)))}::text::text[]) url`;
  return ids;
}

/** The driver does not know the types of arrays here (fetch_types). */
const list = (values: string[]) => `{${values.join(",")}}`;

/** Commits so many projects of each account at once, each with an event. Returns their ids. */
export async function createProjects({ sql }: World, owners: string[], each: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into keyframe.projects (owner_id, title, text_prompt)
    select owner, 'Isolation', 'p' from unnest(${list(owners)}::text::uuid[]) owner, generate_series(1, ${each}::int)
    returning id`;
  return rows.map(({ id }) => id);
}

/** Returns the prediction's id. */
export async function startFrame({ sql }: World, project: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into keyframe.predictions (project_id, step, input)
    values (${project}, 'first-frame', jsonb_build_object('prompt', 'A harbour at dawn, take ' || gen_random_uuid())) returning id`;
  return row?.id ?? "";
}
