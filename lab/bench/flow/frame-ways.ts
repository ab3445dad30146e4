import { waitUntil } from "../measure.ts";
import type postgres from "postgres";
import type { startLoad } from "../api/load.ts";
import { type BenchUser, makeProjects, makeUsers } from "../api/users.ts";
import { readByApi, startByApi } from "../api/operations.ts";
import type { BenchStack } from "../stack.ts";
import type { JobProcess } from "../job-process.ts";
import type { ScriptJob } from "./script-process.ts";

/** Fast polls for one frame; slow ones for many, so that polling costs less than the work. */
const LOOK_EVERY_MS = { one: 3, many: 20 };
/** pg_net, and its stand-in, pauses so long after a batch. */
const PG_NET_PAUSE_MS = 1_000;

type Load = ReturnType<typeof startLoad>;
/** Makes so many first frames at once; returns ms until the last is done. */
type FrameWay = (atOnce: number) => Promise<number>;

/**
 * Through the API, each frame by another user. Polls the queue's small index, which is cheaper than the API;
 * `expectReadable` asks the API once.
 */
export async function openOurWay(stack: BenchStack, sql: postgres.Sql, load: Load, users: number) {
  const everybody = await makeUsers(stack, sql, users);
  const projects = await makeProjects(sql, everybody);
  const succeeded = () =>
    countOf(sql`
      select count(*)::int from keyframe.predictions where status = 'succeeded' and project_id in ${sql(projects)}`);
  const active = () =>
    countOf(sql`
      select count(*)::int from keyframe.predictions
      where admitted_at is not null and is_active
        and owner_id in ${sql(everybody.map(({ id }) => id))}`);
  let started = 0;
  const make: FrameWay = async (atOnce) => {
    const requests = Array.from({ length: atOnce }, () => {
      const at = started++ % users;
      return startByApi(everybody[at] as BenchUser, projects[at] ?? ""); // at is below the number of users
    });
    const goal = (await succeeded()) + atOnce;
    const began = performance.now();
    const asked = load.run({ requests, clients: atOnce, count: atOnce, warmUp: 0, status: 202 });
    let answered = false;
    const settled = asked.finally(() => {
      answered = true;
    });
    await waitUntil(async () => answered && (await active()) === 0, {
      what: `${atOnce} first frames are stored`,
      everyMs: LOOK_EVERY_MS[atOnce === 1 ? "one" : "many"],
    });
    const took = performance.now() - began;
    await settled;
    if ((await succeeded()) !== goal) throw new Error("Not every first frame has succeeded.");
    return took;
  };
  return { make, expectReadable: () => expectReadable(sql, stack, everybody, load) };
}

/** The script. Throws unless each frame is in its table. */
export const openScriptWay =
  (sql: postgres.Sql, script: JobProcess, table: string): FrameWay =>
  async (atOnce) => {
    const written = () => countOf(sql`select count(*)::int from ${sql(table)}`);
    const goal = (await written()) + atOnce;
    const took = await timed(() => script.run({ atOnce, store: true } satisfies ScriptJob));
    if ((await written()) !== goal) throw new Error("The script did not write a row for each frame.");
    return took;
  };

/** The provider alone, nothing is stored: the limit of every way. */
export const openProviderWay =
  (script: JobProcess): FrameWay =>
  (atOnce) =>
    timed(() => script.run({ atOnce, store: false } satisfies ScriptJob));

/** Waits until no worker is alive and pg_net would send at once. */
export async function untilIdle(sql: postgres.Sql): Promise<void> {
  const alive = () =>
    countOf(sql`select count(*)::int from keyframe_private.worker_heartbeats where alive_until > now()`);
  await waitUntil(async () => (await alive()) === 0, { what: "workers are idle", everyMs: 50 });
  await new Promise((resolve) => setTimeout(resolve, PG_NET_PAUSE_MS));
}

/** Checks through the API that every user's last frame has succeeded and has a URL. */
async function expectReadable(sql: postgres.Sql, stack: BenchStack, users: BenchUser[], load: Load): Promise<void> {
  const rows = await sql<{ id: string; project_id: string; owner_id: string }[]>`
    select distinct on (owner_id) id, project_id, owner_id from keyframe.predictions
    where owner_id in ${sql(users.map(({ id }) => id))} order by owner_id, created_at desc`;
  if (rows.length !== users.length) throw new Error(`${rows.length} of ${users.length} users have a frame.`);
  const requests = rows.map(({ id, project_id, owner_id }) => {
    const token = users.find((user) => user.id === owner_id)?.token ?? "";
    return { ...readByApi({ ...stack.caller, token }, project_id, id), contains: `"url":"${stack.url}` };
  });
  await load.run({ requests, clients: users.length, count: users.length, warmUp: 0, status: 200 });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const countOf = async (rows: postgres.PendingQuery<{ count: number }[]>): Promise<number> =>
  (await rows)[0]?.count ?? 0;
