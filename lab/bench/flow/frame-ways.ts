import type postgres from "postgres";
import type { startLoad } from "../api/load.ts";
import { type BenchUser, makeProjects, makeUsers } from "../api/make-users.ts";
import { readByApi, startByApi } from "../api/requests.ts";
import type { BenchStack } from "../bench-stack.ts";
import type { Script } from "./script.ts";

/** For one frame every millisecond counts; of many, looking must not cost what making them does. */
const LOOK_EVERY_MS = { one: 3, many: 20 };
const IDLE_LOOK_EVERY_MS = 50;
const PATIENCE_MS = 120_000;
/** The stand-in of pg_net pauses so long after a batch, as pg_net does. */
const PG_NET_PAUSE_MS = 1_000;

type Load = ReturnType<typeof startLoad>;
/** Has so many first frames made at once; milliseconds until the last is done. */
export type FrameWay = (atOnce: number) => Promise<number>;

/**
 * Through the API: each frame of a user of its own, at most `users` at once. The end is looked for in the queue's own small index,
 * which costs less than asking the API for it so often, or counting all that have succeeded; `expectReadable` asks the API once.
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
      return startByApi(everybody[at] as BenchUser, projects[at] ?? ""); // at is below their number
    });
    const goal = (await succeeded()) + atOnce;
    const began = performance.now();
    const asked = load.run({ requests, clients: atOnce, count: atOnce, warmUp: 0, status: 202 });
    let answered = false;
    const settled = asked.finally(() => {
      answered = true;
    });
    await until(
      async () => answered && (await active()) === 0,
      LOOK_EVERY_MS[atOnce === 1 ? "one" : "many"],
      `${atOnce} first frames`,
    );
    const took = performance.now() - began;
    await settled;
    if ((await succeeded()) !== goal) throw new Error("Not every first frame has succeeded.");
    return took;
  };
  return { make, expectReadable: () => expectReadable(sql, stack, everybody, load) };
}

/** The script. Each frame has to be in its table. */
export const openScriptWay =
  (sql: postgres.Sql, script: Script, table: string): FrameWay =>
  async (atOnce) => {
    const written = () => countOf(sql`select count(*)::int from ${sql(table)}`);
    const goal = (await written()) + atOnce;
    const took = await timed(() => script.run(atOnce));
    if ((await written()) !== goal) throw new Error("The script did not write a row for each frame.");
    return took;
  };

/** The provider alone: the script, but nothing is stored. What no way can be quicker than. */
export const openProviderWay =
  (script: Script): FrameWay =>
  (atOnce) =>
    timed(() => script.run(atOnce, false));

/** Waits until nobody looks for work, and pg_net would send at once. */
export async function untilIdle(sql: postgres.Sql): Promise<void> {
  const looking = () =>
    countOf(sql`select count(*)::int from keyframe_private.worker_heartbeats where alive_until > now()`);
  await until(async () => (await looking()) === 0, IDLE_LOOK_EVERY_MS, "the end of looking for work");
  await new Promise((resolve) => setTimeout(resolve, PG_NET_PAUSE_MS));
}

/** The API tells everybody that their latest frame has succeeded, with an address. */
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

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const countOf = async (rows: postgres.PendingQuery<{ count: number }[]>): Promise<number> =>
  (await rows)[0]?.count ?? 0;

async function until(isSo: () => Promise<boolean>, everyMs: number, what: string): Promise<void> {
  const began = performance.now();
  while (!(await isSo())) {
    if (performance.now() - began > PATIENCE_MS) throw new Error(`Waited ${PATIENCE_MS / 1000} s for ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
