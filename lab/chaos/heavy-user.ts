import { pause } from "../../shared/platform/retry.ts";
import { waitUntil } from "../bench/measure.ts";
import type { Scenario } from "./scenario.ts";
import { withSetting } from "./scenario-actions.ts";
import { signUp } from "./users.ts";
import { multiplyRateLimits, RATE_LIMITS_TIMES, SIMULATOR, type World } from "./world.ts";

// One signed-in user who requests as much as the service allows, with far more data than usual.

const SUBMITS = 100_000;
const SHOTS = 500;
const TAKES_OF_LARGE = 8_000;

/** On a quiet machine their calls end too soon to be many at once, and their tokens are used up all the same. */
const NAMED =
  /^Owner [0-9a-f-]{36} has (\d+ database calls at once|used up the rate of \w+ requests|been refused requests)/;

const FRAMES = "/functions/v1/api/projects/generate/first-frame";

type HeavyUser = {
  owner: string;
  call: (path: string, init?: RequestInit) => Promise<Response>;
  film: string;
  project: string;
  large: string;
  /** The path of a prediction of the project that neither ends nor changes. */
  status: string;
};

export const HEAVY_USER: Record<string, Scenario> = {
  heavy_reads: {
    sentence: `As a user with ${SUBMITS} submits, in 180 loops, read usage by project, a film of ${SHOTS} shots and a sorted table, and wait for a prediction`,
    health: NAMED,
    open: withHeavyUser(async ({ call, film, status }, over) => {
      await Promise.all([
        repeat(25, over, () => call("/functions/v1/api/usage?groupBy=project")),
        repeat(25, over, () => call("/rest/v1/predictions?select=id,input&order=input->>prompt.desc,id&limit=20")),
        repeat(30, over, () => call(`/functions/v1/api/films/${film}`)),
        repeat(100, over, () => call(status, { headers: { prefer: "wait=20" } })),
      ]);
      return [];
    }),
  },
  impatient_waits: {
    ...impatient("waiting for it", { prefer: "wait=20" }),
    health: "ok",
  },
  impatient_reads: {
    ...impatient("without waiting for it", {}),
    health: NAMED,
  },
  heavy_writes: {
    sentence: `Set a budget for the service. As a user with ${SUBMITS} reserved submits, every 5 s start 200 frames at once, and delete a project of ${TAKES_OF_LARGE} predictions 60 times at once`,
    startsFrames: true,
    lastsMs: 30_000, // the tokens are used up after ten seconds, and ten more later health names them
    laterMs: 1_000,
    health: NAMED,
    open: async (world) => {
      const { sql } = world;
      const run = await withHeavyUser(async ({ call, project, large }, over) => {
        const body = JSON.stringify({ projectId: project, prompt: "A harbour at dawn" });
        await Promise.all([
          repeat(60, over, () => call(`/functions/v1/api/projects/${large}`, { method: "DELETE" }), EVERY_MS),
          repeat(200, over, () => call(FRAMES, { method: "POST", body }), EVERY_MS),
        ]);
        const [row] = await sql<{ visible: number }[]>`
          select count(*)::int as visible from keyframe.projects where id = ${large} and deleted_at is null`;
        return row?.visible === 0 ? [] : ["the project was never deleted"];
      }, "held")(world);
      return (over) => withSetting(world, "service_month_micros", Number.MAX_SAFE_INTEGER, () => run(over));
    },
  },
};

function impatient(how: string, headers: Record<string, string>) {
  return {
    sentence: `As one user, read the status of a prediction in 100 loops, ${how}, without a pause after any answer`,
    startsFrames: true,
    laterMs: 1_000,
    open: withHeavyUser(async ({ call, status }, over) => {
      await repeat(100, over, () => call(status, { headers }), 0);
      return [];
    }),
  } satisfies Scenario;
}

/**
 * Adds the user; then `ask` has them send requests under the shipped limits: chaos runs have limits that are never reached, and here limits
 * are the subject. At the end the user's past is deleted: its submits were made for no prediction, and would never end.
 */
function withHeavyUser(
  ask: (user: HeavyUser, over: AbortSignal) => Promise<string[]>,
  submits: "settled" | "held" = "settled",
): Scenario["open"] {
  return async (world) => {
    const { sql } = world;
    const user = await addHeavyUser(world, submits);
    return async (over) => {
      await multiplyRateLimits(sql, 1 / RATE_LIMITS_TIMES);
      try {
        return await ask(user, over);
      } finally {
        await multiplyRateLimits(sql, RATE_LIMITS_TIMES);
        await sql`
          delete from keyframe_private.provider_submits s where owner_id = ${user.owner}
            and not exists (select from keyframe.predictions p where p.id = s.prediction_id)`;
      }
    };
  };
}

/** Longer than a busy request takes; a request without an answer frees its loop. */
const REQUEST_MS = 30_000;
const MAX_PAUSE_MS = 1_000;
const EVERY_MS = 5_000;

/** Repeats a request in so many loops at once. A refused loop pauses as Retry-After says, at most a second, or always for `pauseMs`. */
async function repeat(
  loops: number,
  over: AbortSignal,
  send: () => Promise<Response>,
  pauseMs?: number,
): Promise<void> {
  const loop = async () => {
    while (!over.aborted) {
      const response = await send().catch(() => undefined); // the platform closes connections when it is busy
      await response?.body?.cancel();
      if (pauseMs !== undefined) await pause(pauseMs, over);
      else if (!response?.ok)
        await pause(Math.min(Number(response?.headers.get("retry-after") ?? 1) * 1000, MAX_PAUSE_MS), over);
    }
  };
  await Promise.all(Array.from({ length: loops }, loop));
}

/** Signs the user up, and gives them a film, a large project and a past by SQL. */
async function addHeavyUser(world: World, submits: "settled" | "held"): Promise<HeavyUser> {
  const { stack, sql } = world;
  const account = { email: `scenario-heavy-${crypto.randomUUID()}@keyframe.local`, password: crypto.randomUUID() };
  const session = await signUp(world, account);
  const owner = session.user.id;
  const headers = {
    authorization: `Bearer ${session.access_token}`,
    apikey: stack.keys.publishableKey,
    "accept-profile": "keyframe",
    "content-type": "application/json",
  };
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${stack.url}${path}`, {
      ...init,
      headers: { ...headers, ...init.headers },
      signal: AbortSignal.timeout(REQUEST_MS),
    });
  const [row] = await sql<{ film: string }[]>`
    insert into keyframe.films (owner_id, title) values (${owner}, 'Heavy') returning id as film`;
  const film = row?.film ?? "";
  const projects = await sql<{ id: string }[]>`
    insert into keyframe.projects (owner_id, title, text_prompt, film_id)
    select ${owner}, 'Shot ' || i, repeat('A harbour at dawn. ', 20), case when i <= ${SHOTS} then ${film}::uuid end
    from generate_series(1, ${SHOTS + 2}::int) i returning id`;
  const [project = "", large = ""] = projects.slice(SHOTS).map(({ id }) => id);
  await sql.begin(async (open) => {
    await open`set local session_replication_role = replica`;
    // Those of the film have failed: they have no files, whose signed addresses the service would keep for an hour.
    await open`
      insert into keyframe.predictions (id, project_id, owner_id, step, status, input, model, attempt, created_at, admitted_at, started_at, completed_at,
        deadline_at, error_code, error_message, error_retryable, output_path, output_content_type, output_bytes, output_sha256, output_width, output_height)
      select r.id, p.id, p.owner_id, r.step::keyframe.generation_step, case when o.ok then 'succeeded' else 'failed' end::keyframe.prediction_status,
        jsonb_build_object('prompt', p.text_prompt || r.id, 'referenceImagePaths', '[]'::jsonb), 'google/nano-banana', 1,
        now(), now(), now(), now(), now(), failed.*, case when o.ok then p.owner_id || '/' || p.id || '/' || r.id || '.png' end, file.*
      from keyframe.projects p
      cross join lateral (select p.id = ${large} as ok) o
      cross join lateral (
        select gen_random_uuid() as id, step from unnest(array['first-frame', 'last-frame']) step,
          generate_series(1, case when o.ok then ${TAKES_OF_LARGE / 2} when p.id = ${project} then 0 else 2 end)) r
      left join (values ('provider_failed', 'It did not work.', true)) failed on not o.ok
      left join (values ('image/png', 1::bigint, repeat('a', 64), 1, 1)) file on o.ok
      where p.owner_id = ${owner}`;
    await open`set local session_replication_role = origin`;
    await open`
      insert into keyframe_private.provider_submits (owner_id, project_id, prediction_id, attempt, is_first, step, model, most_micros, cost_micros, cost_state)
      select ${owner}, p.id, gen_random_uuid(), 1, true, 'first-frame', 'google/nano-banana', 1000,
        case when ${submits}::text = 'settled' then 1000 end, ${submits}
      from (select array(select id from keyframe.projects where owner_id = ${owner}) as ids) o, generate_series(1, ${SUBMITS}::int) i
      cross join lateral (select o.ids[1 + i % ${SHOTS}] as id) p`;
  });
  const status = `${FRAMES}?projectId=${project}&predictionId=${await addWaiting(world, call, project)}`;
  await sql`select keyframe_private.merge_costs(1000000)`; // they were added one after the other, not all just now
  await sql`analyze keyframe.predictions, keyframe_private.provider_submits`;
  return { owner, call, film, project, large, status };
}

/** A prediction that runs for an hour. */
async function addWaiting({ stack, sql }: World, call: HeavyUser["call"], project: string): Promise<string> {
  const delay = (start_ms: number) =>
    fetch(`${stack.simulator?.url}/control/delays`, { method: "POST", body: JSON.stringify({ start_ms }) });
  await delay(3_600_000);
  try {
    const body = JSON.stringify({ projectId: project, prompt: "A harbour at dawn" });
    const response = await call(FRAMES, { method: "POST", body });
    const { data } = (await response.json()) as { data: { predictionId: string } };
    const runs = () =>
      sql`select from keyframe.predictions where id = ${data.predictionId} and provider_prediction_id is not null`;
    await waitUntil(async () => (await runs()).count > 0, { what: "it is submitted", everyMs: 50 });
    return data.predictionId;
  } finally {
    await delay(SIMULATOR.startDelayMs);
  }
}
