import type postgres from "postgres";
import type { Row } from "./predictions.ts";

type AnySql = postgres.Sql | postgres.TransactionSql;

/** One task of claim_predictions. */
export type Task = Record<string, unknown> & { task: string; id: string; lease_token: string; attempt: number };

export async function claim(
  sql: AnySql,
  maxRows = 10,
  leaseSeconds = 60,
  heartbeatMs = 0,
  waitMs = 0,
): Promise<Task[]> {
  const rows = await sql<{ task: Task }[]>`
    select t as task from keyframe_worker.claim_predictions(${maxRows}, ${leaseSeconds}, ${heartbeatMs}, ${waitMs}) t`;
  return rows.map(({ task }) => task);
}

/** What the provider says; by default that run `run` of attempt 1 is being processed. */
export type Saying = {
  id: string;
  attempt?: number;
  run: string;
  status?: string;
  outputUrl?: string | null;
  progress?: number | null;
  error?: string | null;
  foundBy?: "name" | "text" | null;
  failure?: "input_unreachable" | "interrupted" | "content_rejected";
  stage?: "input" | "output" | null;
  metrics?: Record<string, number | string | boolean>;
  attemptWithoutRun?: number;
};

/** record_provider_state's answer. */
export async function providerSays(sql: AnySql, saying: Saying): Promise<string> {
  const {
    id,
    attempt = 1,
    run,
    status = "processing",
    outputUrl,
    progress,
    error,
    foundBy,
    failure,
    stage,
    metrics,
    attemptWithoutRun,
  } = saying;
  const output = outputUrl === undefined && status === "succeeded" ? "https://replicate.delivery/out.png" : outputUrl;
  const [row] = await sql<{ answer: string }[]>`
    select keyframe_worker.record_provider_state(
      prediction_id => ${id}, attempt => ${attempt}, provider_prediction_id => ${run}, provider_status => ${status},
      output_url => ${output ?? null}, progress => ${progress ?? null}, error_message => ${error ?? null},
      found_by => ${foundBy ?? null}, failure => ${failure ?? null}, stage => ${stage ?? null}, metrics => ${metrics ? sql.json(metrics) : null},
      attempt_without_run => ${attemptWithoutRun ?? null}) as answer`;
  return row?.answer ?? "no answer";
}

/** complete_prediction's answer for a stored PNG. */
export async function complete(sql: AnySql, id: string, lease: string | null): Promise<boolean> {
  const [row] = await sql<{ answer: boolean }[]>`
    select keyframe_worker.complete_prediction(
      ${id}, ${lease}, (select concat_ws('/', owner_id, project_id, id || '.png') from keyframe.predictions where id = ${id}),
      'image/png', 1024, ${"a".repeat(64)}, 640, 360) as answer`;
  return row?.answer ?? false;
}

export async function fail(sql: AnySql, id: string, lease: string | null, code = "output_invalid"): Promise<boolean> {
  const [row] = await sql<{ answer: boolean }[]>`
    select keyframe_worker.fail_prediction(${id}, ${lease}, ${code}, 'It did not work.', true) as answer`;
  return row?.answer ?? false;
}

/** retry_prediction_later's answer. `answered`: the last submit was, by a refusal. */
export async function retryLater(
  sql: AnySql,
  id: string,
  lease: string | null,
  more: { code?: string; retryAfter?: number; answered?: boolean } = {},
): Promise<string> {
  const [row] = await sql<{ answer: string }[]>`
    select keyframe_worker.retry_prediction_later(
      ${id}, ${lease}, ${more.code ?? "provider_unavailable"}, 'It is away.', ${more.retryAfter ?? null},
      (select attempt from keyframe.predictions where id = ${id} and ${more.answered ?? true})) as answer`;
  return row?.answer ?? "no answer";
}

export async function pollLater(sql: AnySql, id: string, lease: string | null): Promise<boolean> {
  const [row] = await sql<
    { answer: boolean }[]
  >`select keyframe_worker.poll_prediction_later(${id}, ${lease}) as answer`;
  return row?.answer ?? false;
}

/** A prediction's row as it is now. */
export async function readRow(sql: AnySql, id: string): Promise<Row> {
  const [row] = await sql<Row[]>`select * from keyframe.predictions where id = ${id}`;
  if (!row) throw new Error(`There is no prediction ${id}.`);
  return row;
}

/** Makes a prediction due now, as if the time until then had passed. */
export async function makeDue(sql: AnySql, id: string): Promise<void> {
  await sql`update keyframe.predictions set next_attempt_at = now() - interval '1 second' where id = ${id}`;
}

/** Runs that the provider will be asked to cancel. */
export async function runsToCancel(sql: AnySql): Promise<string[]> {
  const rows = await sql<{ run: string }[]>`
    select provider_prediction_id as run from keyframe_private.provider_submits where cancel_due_at is not null order by 1`;
  return rows.map(({ run }) => run);
}

/** The submits of a prediction in the ledger, the first first. */
export async function submitsOf(sql: AnySql, id: string): Promise<Row[]> {
  return await sql<Row[]>`
    select * from keyframe_private.provider_submits where prediction_id = ${id} order by attempt, id`;
}

/** The leases of all searches have ended. */
export async function makeSearchesDue(sql: AnySql): Promise<void> {
  await sql`update keyframe_private.provider_submits set search_due_at = now() where search_due_at is not null`;
}
