import type postgres from "postgres";
import type { Caller } from "../stack.ts";
import type { LoadRequest } from "./load.ts";
import { type BenchUser, makeProjects, makeRunning } from "./users.ts";

/** Each user's request, and the status of success. */
export type Way = { requests: LoadRequest[]; status: number };

/** One operation by several ways. */
export type Operation = {
  name: string;
  api: Way;
  rest: Way;
  /** A third way that does less. */
  bare?: Way;
  /** How many rows it has made so far; absent where it makes none. */
  countRows?: () => Promise<number>;
  /** Deletes what would slow down the next requests. */
  tidy?: () => Promise<void>;
};

/** The operations of these users, each on its own project. */
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
      // They are all active, and each start counts the active ones.
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

const PROMPT = "A harbour at dawn, one red boat";
const TITLE = "Bench";

const headersOf = ({ token, apikey }: Caller) => ({
  authorization: `Bearer ${token}`,
  apikey,
  "content-type": "application/json",
  "accept-profile": "keyframe",
  "content-profile": "keyframe",
});

const post = (caller: Caller, path: string, body: unknown, headers: Record<string, string> = {}): LoadRequest => ({
  method: "POST",
  url: caller.url + path,
  headers: { ...headersOf(caller), ...headers },
  body: JSON.stringify(body),
});

/** Creates a project: the API, and the same insert by REST. */
const createByApi = (caller: Caller) =>
  post(caller, "/functions/v1/api/projects", { title: TITLE, textPrompt: PROMPT, description: "" });
const createByRest = (caller: Caller) =>
  post(
    caller,
    "/rest/v1/projects?select=*",
    { title: TITLE, text_prompt: PROMPT, description: "" },
    { prefer: "return=representation" },
  );

/** Starts a first frame: the API, and the same SQL function by REST. */
export const startByApi = (caller: Caller, projectId: string) =>
  post(caller, "/functions/v1/api/projects/generate/first-frame", { projectId, prompt: PROMPT });
const startByRest = (caller: Caller, projectId: string) =>
  post(caller, "/rest/v1/rpc/start_prediction", { project_id: projectId, step: "first-frame", prompt: PROMPT });

/** Reads the status of a first frame: the API, the same SQL function by REST, and the bare row. */
export const readByApi = (caller: Caller, projectId: string, predictionId: string): LoadRequest => ({
  method: "GET",
  url: `${caller.url}/functions/v1/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`,
  headers: headersOf(caller),
  contains: predictionId,
});
const readByRest = (caller: Caller, projectId: string, predictionId: string): LoadRequest => ({
  ...post(caller, "/rest/v1/rpc/read_prediction", {
    project_id: projectId,
    step: "first-frame",
    prediction_id: predictionId,
  }),
  contains: predictionId,
});
const selectByRest = (caller: Caller, predictionId: string): LoadRequest => ({
  method: "GET",
  url: `${caller.url}/rest/v1/predictions?select=*&id=eq.${predictionId}`,
  headers: headersOf(caller),
  contains: predictionId,
});
