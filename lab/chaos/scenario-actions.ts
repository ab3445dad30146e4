import type postgres from "postgres";
import { pause } from "../../shared/platform/retry.ts";
import type { Behaviour, ReceiverHost } from "./receivers.ts";
import type { Scenario } from "./scenario.ts";
import type { World } from "./world.ts";

/** Not the default, which the other users' frames have. */
export const OTHER_MODEL = "bytedance/seedream-4";

/** Ends generate, then `first` accounts start four frames each at once, and each second `more` others one each. */
export const startBadFrames =
  (faults: string, first: number, more: number): Scenario["open"] =>
  async (world) =>
  async (over) => {
    const start = async (owners: number, each: number) => {
      const projects = await createProjects(world, await addOwners(world, owners, 0, "well"), 1);
      await startFrames(world, projects, { each, model: OTHER_MODEL, faults });
    };
    world.stack.children.get("keyframe-generate")?.kill("SIGKILL");
    await start(first, 4);
    while (!over.aborted) {
      await pause(1_000, over);
      await start(more, 1);
    }
    return [];
  };

/** Six hundred accounts with an endpoint each that behaves so: an event of each, again and again, with `after` at the end of each pause. */
export const sendToSixHundred =
  (
    behaviour: Behaviour,
    everyMs: number,
    { host, after }: { host?: ReceiverHost; after?: (world: World) => void } = {},
  ): Scenario["open"] =>
  async (world) => {
    const owners = await addOwners(world, 600, 1, behaviour, { host });
    return async (over) => {
      while (!over.aborted) {
        await createProjects(world, owners, 1);
        await pause(everyMs, over);
        after?.(world);
      }
      return [];
    };
  };

/** Longer than all tries of a call but shorter than a lease: what waits must be recorded afterwards, not lost. */
const HOLD_MS = 10_000;

/** Does the work in a transaction that is taken back. */
export async function holdOpen({ sql }: World, work: (sql: postgres.ReservedSql) => Promise<unknown>): Promise<void> {
  const connection = await sql.reserve();
  try {
    await connection`begin`;
    await work(connection);
  } finally {
    await connection`rollback`;
    connection.release();
  }
}

/** Does the work with a setting of another value than the default. */
export async function withSetting<Result>(
  { sql }: World,
  name: "max_active_per_owner" | "service_month_micros",
  value: number,
  work: () => Promise<Result>,
): Promise<Result> {
  await sql`update keyframe_private.settings set ${sql(name)} = ${value}`;
  try {
    return await work();
  } finally {
    await sql`update keyframe_private.settings set ${sql(name)} = default`;
  }
}

/** The locks that a transaction can hold on an account, and on shared rows. */
export async function holdAll(open: postgres.Sql, owner: string): Promise<void> {
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
  { mark = crypto.randomUUID(), host }: { mark?: string; host?: ReceiverHost | undefined } = {},
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
export const list = (values: string[]) => `{${values.join(",")}}`;

/** Commits so many projects of each account at once, each with an event. Returns their ids. */
export async function createProjects({ sql }: World, owners: string[], each: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into keyframe.projects (owner_id, title, text_prompt)
    select owner, 'Isolation', 'p' from unnest(${list(owners)}::text::uuid[]) owner, generate_series(1, ${each}::int)
    returning id`;
  return rows.map(({ id }) => id);
}

type Frames = { each?: number; model?: string; faults?: string };

/** Starts so many frames of each project at once, by the default model or another, with faults of the simulator. Returns their ids. */
export async function startFrames(
  { sql }: World,
  projects: string[],
  { each = 1, model = "", faults = "" }: Frames = {},
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into keyframe.predictions (project_id, step, model, input)
    select project, 'first-frame', ${model}, jsonb_build_object('prompt', 'A harbour at dawn, take ' || gen_random_uuid() || ${faults}::text)
    from unnest(${list(projects)}::text::uuid[]) project, generate_series(1, ${each}::int) returning id`;
  return rows.map(({ id }) => id);
}
