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
  outputFiles?: { at: string; url: string }[];
  progress?: number | null;
  error?: string | null;
  foundBy?: "name" | "text" | null;
  failure?: "input_unreachable" | "interrupted" | "content_rejected";
  stage?: "input" | "output" | null;
  metrics?: Record<string, number | string | boolean>;
  attemptWithoutRun?: number;
};

/** A worker's function with these arguments, and its answer. */
async function callWorker<T>(sql: AnySql, name: string, args: Record<string, unknown>): Promise<T> {
  const names = Object.keys(args).map((key, i) => `${key} => $${i + 1}`);
  const [row] = await sql.unsafe<{ answer: T }[]>(
    `select keyframe_worker.${name}(${names.join(", ")}) as answer`,
    Object.values(args).map((value) => value ?? null) as never[],
  );
  if (!row) throw new Error(`${name} gave no row.`);
  return row.answer;
}

/** record_provider_state's answer. */
export async function providerSays(sql: AnySql, saying: Saying): Promise<string> {
  const { id, attempt = 1, run, status = "processing", progress, error, failure, stage, metrics } = saying;
  const { outputUrl = status === "succeeded" ? "https://replicate.delivery/out.png" : null } = saying;
  return await callWorker(sql, "record_provider_state", {
    ...{ prediction_id: id, attempt, provider_prediction_id: run, provider_status: status, output_url: outputUrl },
    ...{ progress, error_message: error, failure, stage, metrics, found_by: saying.foundBy },
    attempt_without_run: saying.attemptWithoutRun,
    output_files: saying.outputFiles,
  });
}

/** complete_prediction's answer for a stored PNG. */
export async function complete(
  sql: AnySql,
  id: string,
  lease: string | null,
  sha256 = "a".repeat(64),
): Promise<boolean> {
  const { owner_id, project_id } = await readRow(sql, id);
  return await callWorker(sql, "complete_prediction", {
    ...{ prediction_id: id, lease_token: lease, output_path: `${owner_id}/${project_id}/${id}.png` },
    ...{ content_type: "image/png", bytes: 1024, sha256, width: 640, height: 360 },
  });
}

export async function fail(sql: AnySql, id: string, lease: string | null, code = "output_invalid"): Promise<boolean> {
  const said = { code, message: "It did not work.", retryable: true };
  return await callWorker(sql, "fail_prediction", { prediction_id: id, lease_token: lease, ...said });
}

/** retry_prediction_later's answer. `answered`: the last submit was, by a refusal. */
export async function retryLater(
  sql: AnySql,
  id: string,
  lease: string | null,
  { code = "provider_unavailable", retryAfter, answered = true }: Retry = {},
): Promise<string> {
  return await callWorker(sql, "retry_prediction_later", {
    ...{ prediction_id: id, lease_token: lease, code, message: "It is away.", retry_after_seconds: retryAfter },
    attempt_without_run: answered ? (await readRow(sql, id)).attempt : null,
  });
}
type Retry = { code?: string; retryAfter?: number; answered?: boolean };

export async function pollLater(sql: AnySql, id: string, lease: string | null): Promise<boolean> {
  return await callWorker(sql, "poll_prediction_later", { prediction_id: id, lease_token: lease });
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
