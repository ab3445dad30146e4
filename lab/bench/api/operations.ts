import { createClient } from "@supabase/supabase-js";
import type { LoadRequest } from "../load.ts";
import type { BenchStack, Caller } from "../stack.ts";
import { type BenchUser, makeProjects } from "../users.ts";
import { makeWrittenProjects } from "../written/open-written.ts";

/** The same operation by the API and by the written function: a request of each user. */
export type Operation = {
  name: string;
  api: LoadRequest[];
  written: LoadRequest[];
  /** The aim for the ratio of both p50. */
  atMost: number;
  /** Deletes what would slow down the next requests. */
  tidy?: () => Promise<unknown>;
};

const PROMPT = "A harbour at dawn, one red boat";

export async function listOperations(stack: BenchStack, written: string, users: BenchUser[]): Promise<Operation[]> {
  const { sql, functionUrls } = stack;
  const [projects, theirProjects] = [await makeProjects(stack, users), await makeWrittenProjects(stack, users)];
  const frames = await makeFrames(stack, users, projects, theirProjects);
  const api = `${functionUrls.api}/api`;
  const each = (request: (user: BenchUser, at: number) => LoadRequest) => users.map(request);
  const read = (running: boolean) => ({
    api: each((user, at) => readFrame(api, user, projects[at] ?? "", frames(at, running))),
    written: each((user, at) =>
      get(user, `${written}/first-frame?${query(theirProjects[at] ?? "", frames(at, running))}`, frames(at, running)),
    ),
  });
  return [
    {
      name: "create",
      api: each((user) => createProject(api, user)),
      written: each((user) => createProject(written, user)),
      atMost: 0.75,
    },
    {
      name: "start",
      api: each((user, at) => startFrame(api, user, projects[at] ?? "")),
      written: each((user, at) =>
        post(user, `${written}/first-frame`, { projectId: theirProjects[at], prompt: PROMPT }, 202),
      ),
      atMost: 1,
      // They would all be active, and each start counts the active ones.
      tidy: () => sql`delete from keyframe.predictions where project_id in ${sql(projects)} and status = 'queued'`,
    },
    { name: "status, running", ...read(true), atMost: 0.85 },
    { name: "status, finished", ...read(false), atMost: 1.2 },
  ];
}

const headersOf = ({ token, apikey }: Caller) => ({
  authorization: `Bearer ${token}`,
  apikey,
  "content-type": "application/json",
});
const post = (caller: Caller, url: string, body: unknown, status: number): LoadRequest => ({
  ...{ method: "POST", url, headers: headersOf(caller), body: JSON.stringify(body), status },
});
export const get = (caller: Caller, url: string, contains: string): LoadRequest => ({
  ...{ method: "GET", url, headers: headersOf(caller), status: 200, contains },
});
const query = (projectId: string, predictionId: string) => new URLSearchParams({ projectId, predictionId });

/** By the API or the written function. */
export const createProject = (to: string, caller: Caller): LoadRequest =>
  post(caller, `${to}/projects`, { title: "Bench", textPrompt: PROMPT }, 201);
export const startFrame = (api: string, caller: Caller, projectId: string): LoadRequest =>
  post(caller, `${api}/projects/generate/first-frame`, { projectId, prompt: PROMPT }, 202);
export const storeFrame = (written: string, caller: Caller, projectId: string): LoadRequest =>
  post(caller, `${written}/stored-first-frame`, { projectId, prompt: PROMPT }, 201);
export const readFrame = (api: string, caller: Caller, projectId: string, predictionId: string): LoadRequest =>
  get(caller, `${api}/projects/generate/first-frame?${query(projectId, predictionId)}`, predictionId);

/**
 * For each user a running and a finished first frame, with the same ids for both ways. The provider does not know them
 * and is not asked. Returns the id by the user's number.
 */
async function makeFrames({ sql, url, keys }: BenchStack, users: BenchUser[], ours: string[], theirs: string[]) {
  const rows = users.flatMap(({ id: owner_id }, at) =>
    ["processing", "succeeded"].map((status) => {
      const id = crypto.randomUUID();
      const path = status === "succeeded" ? `${owner_id}/${ours[at]}/${id}.png` : null;
      return { id, owner_id, ours: ours[at] ?? "", theirs: theirs[at] ?? "", status, path };
    }),
  );
  await sql.begin(async (sql) => {
    await sql`set local session_replication_role = replica`; // without triggers
    await sql`
      insert into keyframe.predictions (
        id, project_id, owner_id, step, status, input, model, provider_prediction_id, attempt, admitted_at, next_attempt_at, deadline_at, progress,
        started_at, completed_at, output_path, output_content_type, output_bytes, output_sha256, output_width, output_height)
      select r.id, r.ours, r.owner_id, 'first-frame', r.status::keyframe.prediction_status, jsonb_build_object('prompt', ${PROMPT}::text),
        (select model from keyframe.step_defaults where step = 'first-frame'), r.id, 1, now(), now() + interval '1 hour',
        now() + interval '2 hours', 0.5, now(), f.at, r.path, f.type, f.bytes, f.sha256, f.width, f.height
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (id uuid, owner_id uuid, ours uuid, status text, path text)
      left join (select now(), 'image/png', 1000, repeat('a', 64), 1280, 720) as f (at, type, bytes, sha256, width, height)
        on r.status = 'succeeded'`;
  });
  await sql`
    insert into public.written_predictions (id, owner_id, project_id, prompt, status, path)
    select r.id, r.owner_id, r.theirs, ${PROMPT}, r.status, r.path
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (id uuid, owner_id uuid, theirs uuid, status text, path text)`;
  const { storage } = createClient(url, keys.secretKey, { auth: { persistSession: false, autoRefreshToken: false } });
  for (const { path } of rows)
    for (const bucket of path === null ? [] : ["keyframe-outputs", "written"]) {
      const { error } = await storage
        .from(bucket)
        .upload(path ?? "", new Uint8Array(1000), { contentType: "image/png" });
      if (error) throw error;
    }
  return (at: number, running: boolean) => rows[2 * at + (running ? 0 : 1)]?.id ?? "";
}
