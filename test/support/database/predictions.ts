import type postgres from "postgres";
import { beforeEach } from "vitest";
import type { ClonedDatabase } from "./clone-database.ts";

export const STATUSES = ["queued", "starting", "processing", "storing", "succeeded", "failed", "canceled"] as const;
export type Status = (typeof STATUSES)[number];
export type Step = "first-frame" | "last-frame" | "video";

export const isOver = (status: Status) => status === "succeeded" || status === "failed" || status === "canceled";

const MODELS: Record<Step, string> = {
  "first-frame": "google/nano-banana",
  "last-frame": "google/nano-banana",
  video: "kwaivgi/kling-v2.1",
};

export type Row = Record<string, string | number | boolean | Date | null>;

/** The values of the only column of a query. */
export const columnOf = async <T = string>(query: PromiseLike<Iterable<object | undefined>>): Promise<T[]> =>
  [...(await query)].flatMap((row) => Object.values(row ?? {}) as T[]);

/** An owner with one project. */
export type World = { owner: string; project: string };

export const outputPathOf = (id: string, { owner, project }: World): string => `${owner}/${project}/${id}.png`;

/** Another one for each test, from the hooks after this on. */
export function useWorld(db: ClonedDatabase): World {
  const world = {} as World; // filled before any later hook or test can use it
  beforeEach(async () => void Object.assign(world, await addWorld(db)));
  return world;
}

export async function addWorld(db: ClonedDatabase): Promise<World> {
  const owner = await db.addUser();
  return { owner, project: await addProject(db, owner) };
}

export async function addProject(db: ClonedDatabase, owner: string): Promise<string> {
  const project = crypto.randomUUID();
  await db.sql`
    insert into keyframe.projects (id, owner_id, title, text_prompt)
    values (${project}, ${owner}, 'Harbour', 'A harbour at dawn, fog, one red boat')`;
  return project;
}

/** The work of a seeded prediction: its lease, when it is due, and how it failed before. */
const WORK_COLUMNS = ["lease_token", "due_at", "failures", "last_error"];
const KINDS: Partial<Record<Status, [queue: string, kind: string]>> = {
  ...{ queued: ["ask", "submit"], starting: ["ask", "poll"], processing: ["ask", "poll"], storing: ["copy", "store"] },
};

/** The columns that a prediction has to have in a status, as the state machine would have left them. Attempt 1. */
export function columnsIn(status: Status, step: Step = "first-frame", outputPath = ""): Row {
  const hadRun = status !== "queued" && status !== "canceled";
  const now = new Date();
  return {
    status,
    provider_prediction_id: hadRun ? `run-${crypto.randomUUID()}` : null,
    attempt: 1,
    admitted_at: now,
    deadline_at: new Date(now.getTime() + 3_600_000),
    started_at: hadRun ? now : null,
    provider_output_url: status === "storing" || status === "succeeded" ? "https://replicate.delivery/out.png" : null,
    completed_at: isOver(status) ? now : null,
    error_code: status === "failed" ? "provider_failed" : null,
    error_message: status === "failed" ? "It did not work." : null,
    error_retryable: status === "failed" ? true : null,
    output_path: status === "succeeded" ? outputPath : null,
    output_content_type: status === "succeeded" ? "image/png" : null,
    output_bytes: status === "succeeded" ? 1024 : null,
    output_sha256: status === "succeeded" ? "a".repeat(64) : null,
    output_width: status === "succeeded" ? 640 : null,
    output_height: status === "succeeded" ? 360 : null,
    output_duration_seconds: status === "succeeded" && step === "video" ? 5 : null,
    output_has_audio: status === "succeeded" && step === "video" ? false : null,
  };
}

/** The input of a prediction, as in the API. */
export type Input = {
  prompt: string;
  negativePrompt?: string;
  firstFramePredictionId?: string | null;
  firstFrameImagePath?: string | null;
  lastFramePredictionId?: string | null;
  lastFrameImagePath?: string | null;
  referenceImagePaths?: string[];
  elements?: { elementId: string; updatedAt: string; name: string; text: string; imagePaths: string[] }[];
  durationSeconds?: number;
};

export type SeedOptions = {
  status?: Status;
  step?: Step;
  columns?: Row;
  input?: Partial<Input>;
  /** When its last attempt was submitted, if that submit has no answer. */
  unanswered?: Date;
};

/** `lease` and `run` are null where the status has none. */
export type Seeded = { id: string; lease: string | null; run: string | null };

/**
 * Puts a prediction into any status without the triggers (no rate limit, no admission, no kick); checks still hold. Its work is leased, and
 * the lease has expired; without lease_token the work is due.
 * A video gets a first frame that succeeded, each image of the input its row in prediction_images, and a run of the provider, a submit
 * without an answer or one that waits its row in provider_submits.
 * Give it a transaction, or connections to open one on.
 */
export async function seedPrediction(
  sql: postgres.Sql | postgres.TransactionSql,
  world: World,
  options: SeedOptions = {},
): Promise<Seeded> {
  if (!("savepoint" in sql)) return await sql.begin((transaction) => seedPrediction(transaction, world, options));
  const { status = "queued", step = "first-frame", columns = {} } = options;
  const input: Input = { prompt: "A harbour at dawn", ...options.input };
  if (step === "video" && input.firstFramePredictionId === undefined) {
    input.firstFramePredictionId = (await seedPrediction(sql, world, { status: "succeeded" })).id;
  }
  const id = typeof columns.id === "string" ? columns.id : crypto.randomUUID();
  const state: Row = {
    ...columnsIn(status, step, outputPathOf(id, world)),
    lease_token: isOver(status) ? null : crypto.randomUUID(),
    due_at: new Date(Date.now() - 1_000), // due, also for a transaction that began before this row
    ...columns,
  };
  const columnsOf = (isOfWork: boolean) =>
    Object.fromEntries(Object.entries(state).filter(([name]) => WORK_COLUMNS.includes(name) === isOfWork)) as Row;
  const row = {
    id,
    project_id: world.project,
    owner_id: world.owner,
    step,
    input: sql.json(input),
    model: MODELS[step],
    ...columnsOf(false),
  };
  const seeded: Seeded = {
    id,
    lease: (state.lease_token as string | null) ?? null,
    run: (state.provider_prediction_id as string | null) ?? null,
  };
  const isWaiting = status === "queued" && state.attempt === 0;
  const isSearched = isOver(status) && options.unanswered !== undefined;
  const submit = {
    ...{ owner_id: world.owner, project_id: world.project, prediction_id: id },
    ...{ step, model: state.model ?? MODELS[step], attempt: Math.max(1, Number(state.attempt)) },
    ...(isWaiting ? {} : submitIn(status, seeded.run, options.unanswered)),
  };
  const [queue, kind] = isSearched ? ["ask", "search"] : (KINDS[status] ?? [null, null]);
  const work = {
    ...{ queue, kind, subject: id, owner_id: world.owner, lane: world.owner },
    resource: kind === "submit" ? String(row.model) : kind,
    ...columnsOf(true),
  };
  // Sent one after another without waiting for each answer.
  await Promise.all([
    sql`set local session_replication_role = replica`,
    sql`insert into keyframe.predictions ${sql(row)}`,
    sql`
      insert into keyframe_private.prediction_images (prediction_id, role, position, path, source_prediction_id)
      select p.id, image.*
      from keyframe.predictions p
      cross join lateral keyframe_private.images_of(p.input) image
      where p.id = ${id}`,
    seedSubmit(sql, submit, isSearched ? SEARCH_TASK : null),
    ...(kind === null || state.admitted_at === null ? [] : [seedWork(sql, work)]),
    sql`set local session_replication_role = origin`,
  ]);
  return seeded;
}

/** A row of the queue, about the last submit of its subject; leased when it has a token, otherwise ready or scheduled by its time. */
async function seedWork(sql: postgres.TransactionSql, columns: Row): Promise<void> {
  const { due_at, lease_token = null } = columns;
  const state =
    lease_token !== null ? "leased" : due_at instanceof Date && due_at <= new Date() ? "ready" : "scheduled";
  const row = { ...columns, state, worker_id: lease_token === null ? null : crypto.randomUUID() };
  const [submit] =
    await sql`select max(id) as id from keyframe_private.provider_submits where prediction_id = ${String(columns.subject)}`;
  await sql`insert into keyframe_private.work ${sql({ ...row, submit_id: submit?.id ?? null })}`;
}

/** So many more of a seeded prediction, each with its submits and its work. */
export async function seedCopies(sql: postgres.Sql, id: string, count: number): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`set local session_replication_role = replica`;
    await transaction`
      with copies as (
        insert into keyframe.predictions
        select copy.* from keyframe.predictions p, generate_series(1, ${count}::int) i
        cross join lateral jsonb_populate_record(p, jsonb_build_object(
          'id', gen_random_uuid(), 'provider_prediction_id', p.provider_prediction_id || '-' || i)) copy
        where p.id = ${id} returning id, provider_prediction_id
      )
      insert into keyframe_private.provider_submits
        (owner_id, project_id, prediction_id, attempt, step, model, submitted_at, answered_at, provider_prediction_id)
      select owner_id, project_id, c.id, attempt, step, model, submitted_at, answered_at, c.provider_prediction_id
      from keyframe_private.provider_submits s, copies c where s.prediction_id = ${id}`;
    await transaction`
      insert into keyframe_private.work
        (queue, kind, subject, submit_id, owner_id, lane, resource, state, due_at, worker_id, lease_token, failures, last_error)
      select w.queue, w.kind, s.prediction_id, s.id, w.owner_id, w.lane, w.resource, w.state, w.due_at, w.worker_id, w.lease_token, w.failures,
        w.last_error
      from keyframe_private.work w
      join keyframe_private.provider_submits s on s.owner_id = w.owner_id and s.prediction_id <> w.subject
      where w.subject = ${id} and not exists (select from keyframe_private.work o where o.subject = s.prediction_id)`;
  });
}

const SEARCH_TASK = {
  input: { prompt: "A harbour at dawn" },
  has_images: false,
  model_settings: { controls: { prompt: { field: "prompt" } }, fixed: {} },
};
const OUTCOMES: Partial<Record<Status, string>> = { storing: "succeeded", succeeded: "succeeded", failed: "failed" };

/** The last submit of a prediction: unanswered, with a run, or refused. */
function submitIn(status: Status, run: string | null, unanswered?: Date): Row {
  const now = new Date();
  if (unanswered) return { submitted_at: unanswered };
  const outcome = run === null ? "no_run" : (OUTCOMES[status] ?? null);
  const ended_at = outcome === null ? null : now;
  return { submitted_at: now, answered_at: now, provider_prediction_id: run, ended_at, outcome };
}

/** A row of the ledger, by default of a deleted prediction that was never submitted. */
export async function seedSubmit(
  sql: postgres.Sql | postgres.TransactionSql,
  columns: Row = {},
  searchTask: postgres.JSONValue | null = null,
): Promise<void> {
  const submit = {
    ...{ owner_id: crypto.randomUUID(), project_id: crypto.randomUUID(), prediction_id: crypto.randomUUID() },
    ...{ attempt: 1, step: "first-frame", model: MODELS["first-frame"], ...columns },
    search_task: searchTask === null ? null : sql.json(searchTask),
  };
  await sql`insert into keyframe_private.provider_submits ${sql(submit)}`;
}
