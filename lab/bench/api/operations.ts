import type postgres from "postgres";
import type { LoadRequest } from "./load.ts";
import { type BenchUser, makeProjects, makeRunning } from "./make-users.ts";
import { createByApi, createByRest, readByApi, readByRest, selectByRest, startByApi, startByRest } from "./requests.ts";

/** How an operation is asked for: each user's request, and the status that says it was done. */
export type Way = { requests: LoadRequest[]; status: number };

/** One operation in two ways, and what is left of it in the tables. */
export type Operation = {
  name: string;
  api: Way;
  rest: Way;
  /** A third way, which is less than the same work. */
  bare?: Way;
  /** The rows that it has made so far; absent where it makes none. */
  countRows?: () => Promise<number>;
  /** Takes back what would make the next requests slower. */
  tidy?: () => Promise<void>;
};

/** The operations of these users, each on a project of its own. */
export async function listOperations(sql: postgres.Sql, users: BenchUser[]): Promise<Operation[]> {
  const started = await makeProjects(sql, users);
  const watched = await makeProjects(sql, users);
  const predictions = await makeRunning(sql, watched);
  const each = (make: (user: BenchUser, at: number) => LoadRequest) => users.map(make);
  const count = async (rows: postgres.PendingQuery<{ count: number }[]>) => (await rows)[0]?.count ?? 0;
  const owners = users.map(({ id }) => id);
  return [
    {
      name: "create",
      api: { requests: each(createByApi), status: 201 },
      rest: { requests: each(createByRest), status: 201 },
      countRows: () => count(sql`select count(*)::int from keyframe.projects where owner_id in ${sql(owners)}`),
    },
    {
      name: "start",
      api: { requests: each((user, at) => startByApi(user, started[at] ?? "")), status: 202 },
      rest: { requests: each((user, at) => startByRest(user, started[at] ?? "")), status: 200 },
      countRows: () => count(sql`select count(*)::int from keyframe.predictions where project_id in ${sql(started)}`),
      // They are all active, and each start counts what is active.
      tidy: async () => void (await sql`delete from keyframe.predictions where project_id in ${sql(started)}`),
    },
    {
      name: "status",
      api: { requests: each((user, at) => readByApi(user, watched[at] ?? "", predictions[at] ?? "")), status: 200 },
      rest: { requests: each((user, at) => readByRest(user, watched[at] ?? "", predictions[at] ?? "")), status: 200 },
      bare: { requests: each((user, at) => selectByRest(user, predictions[at] ?? "")), status: 200 },
    },
  ];
}
