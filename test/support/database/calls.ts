import type postgres from "postgres";
import type { Row } from "./predictions.ts";

type AnySql = postgres.Sql | postgres.TransactionSql;

/** A task of claim_tasks, with what begin_submit and begin_removal return of it. */
export type Task = Record<string, unknown> & { task: string; id: string; lease_token: string; attempt: number };

const WORKER = crypto.randomUUID();

type ClaimOptions = { heartbeatMs?: number; waitMs?: number; worker?: string };

/** What a worker claims and begins. `worker`: the process. Claims again in place of tasks that are dropped as they begin. */
export async function claim(sql: AnySql, maxRows = 10, options: ClaimOptions = {}): Promise<Task[]> {
  const tasks: Task[] = [];
  for (let isStale = true; isStale; ) {
    isStale = false;
    for (const task of await claimOnly(sql, maxRows - tasks.length, options)) {
      const begun = await begin(sql, task);
      if (begun) tasks.push(begun);
      else isStale = maxRows > tasks.length;
    }
  }
  return tasks;
}

/** Sweeps, then claims and begins all that is due. */
export async function sweepAndClaim(sql: AnySql): Promise<Task[]> {
  await sql`select keyframe_private.sweep()`;
  return await claim(sql, 100);
}

/** Only claims, and does not begin the tasks. */
export async function claimOnly(
  sql: AnySql,
  maxRows = 10,
  { heartbeatMs = 0, waitMs = 0, worker = WORKER }: ClaimOptions = {},
): Promise<Task[]> {
  const answer = await callWorker<{ tasks: Task[] }>(sql, "claim_tasks", {
    worker_id: worker,
    max_rows: maxRows,
    heartbeat_ms: heartbeatMs,
    wait_ms: waitMs,
  });
  return answer.tasks;
}

/** What a worker does first with a task. Null: it was dropped, or the database has done it. */
export async function begin(sql: AnySql, task: Task): Promise<Task | null> {
  const lease = { work_id: task.work_id, lease_token: task.lease_token };
  if (task.task === "submit") {
    const begun = await callWorker<object | null>(sql, "begin_submit", lease);
    return begun && { ...task, ...begun };
  }
  if (task.task === "remove") {
    const files = await callWorker<unknown[] | null>(sql, "begin_removal", lease);
    return files && { ...task, files };
  }
  const isOver = task.task === "expire" || task.task === "give_up";
  if (isOver) await callWorker(sql, "expire_prediction", lease);
  if (task.task === "admit" || task.task === "continue")
    await callWorker(sql, "admit_predictions", lease).catch(({ code }) =>
      callWorker(sql, "retry_work", { ...lease, code }),
    );
  return isOver || task.task === "admit" || task.task === "continue" ? null : task;
}

/** The leased work of a token and its subject, as a worker names it. With the token of a lease that is over, the work that others have now. */
async function leaseOf(sql: AnySql, subject: string, lease: string | null) {
  const [row] = await sql<{ id: string }[]>`
    select id from keyframe_private.work where subject = ${subject} and state = 'leased'
    order by lease_token is not distinct from ${lease} desc, id limit 1`;
  return { work_id: row?.id ?? 0, lease_token: lease };
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
  /** Of the submit, poll or cancel whose result this is. */
  lease?: string;
};

/** A worker's function with these arguments, and its answer. */
export async function callWorker<T>(sql: AnySql, name: string, args: Record<string, unknown>): Promise<T> {
  const names = Object.keys(args).map((key, i) => `${key} => $${i + 1}`);
  const [row] = await sql.unsafe<{ answer: T }[]>(
    `select keyframe_worker.${name}(${names.join(", ")}) as answer`,
    Object.values(args).map((value) => value ?? null) as never[],
  );
  if (!row) throw new Error(`${name} gave no row.`);
  return row.answer;
}

/** report_run's answer. */
export async function providerSays(sql: AnySql, saying: Saying): Promise<string> {
  const { id, attempt = 1, run, status = "processing", progress, error, failure, stage, metrics } = saying;
  const { outputUrl = status === "succeeded" ? "https://replicate.delivery/out.png" : null } = saying;
  const said = { id: run, status, output_url: outputUrl, output_files: saying.outputFiles };
  return await callWorker(sql, "report_run", {
    ...{ prediction_id: id, attempt, run: { ...said, progress, error_message: error, failure, stage, metrics } },
    ...{ found_by: saying.foundBy, attempt_without_run: saying.attemptWithoutRun },
    ...(saying.lease && (await leaseOf(sql, id, saying.lease))),
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
    ...{ ...(await leaseOf(sql, id, lease)), output_path: `${owner_id}/${project_id}/${id}.png` },
    ...{ content_type: "image/png", bytes: 1024, sha256, width: 640, height: 360 },
  });
}

/** fail_prediction's answer. `withoutRun`: the attempt that the provider refused. */
export async function fail(
  sql: AnySql,
  id: string,
  lease: string | null,
  { code = "output_invalid", withoutRun = null }: { code?: string; withoutRun?: number | null } = {},
): Promise<boolean> {
  const said = { code, message: "It did not work.", retryable: true, attempt_without_run: withoutRun };
  return await callWorker(sql, "fail_prediction", { ...(await leaseOf(sql, id, lease)), prediction_id: id, ...said });
}

/** retry_prediction_later's answer. `answered`: the submit of `attempt` was, by a refusal; otherwise it got no answer. */
export async function retryLater(
  sql: AnySql,
  id: string,
  lease: string | null,
  { code = "provider_unavailable", retryAfter, answered = true, attempt }: Retry = {},
): Promise<string> {
  const of = attempt ?? (await readRow(sql, id)).attempt;
  return await callWorker(sql, "retry_prediction_later", {
    ...{
      ...(await leaseOf(sql, id, lease)),
      prediction_id: id,
      code,
      message: "It is away.",
      retry_after_seconds: retryAfter,
    },
    ...(answered ? { attempt_without_run: of } : { unanswered_attempt: of }),
  });
}
type Retry = { code?: string; retryAfter?: number; answered?: boolean; attempt?: number };

/** A prediction's row as it is now, with the work that its status asks for: lease_token, due_at, failures and last_error, null without any. */
export async function readRow(sql: AnySql, id: string): Promise<Row> {
  const [row] = await sql<Row[]>`
    select p.*, w.lease_token, w.due_at, coalesce(w.failures, 0) as failures, w.last_error from keyframe.predictions p
    left join lateral (
      select o.* from keyframe_private.work o
      where o.subject = p.id and o.kind = case p.status when 'queued' then 'submit' when 'storing' then 'store' else 'poll' end
      order by o.submit_id desc nulls last, o.id desc limit 1) w on true
    where p.id = ${id}`;
  if (!row) throw new Error(`There is no prediction ${id}.`);
  return row;
}

/** The work of a prediction, an owner or a delivery. */
export const workOf = (sql: AnySql, subject: string) =>
  sql<Row[]>`select * from keyframe_private.work where subject = ${subject} order by id`;

/** Makes the work of a prediction due now, as if the time until then had passed; a lease expires. */
export async function makeDue(sql: AnySql, subject: string): Promise<void> {
  await sql`update keyframe_private.work set due_at = now() - interval '1 second' where subject = ${subject}`;
}

/** Runs that the provider will be asked to cancel. */
export async function runsToCancel(sql: AnySql): Promise<string[]> {
  const rows = await sql<{ run: string }[]>`
    select s.provider_prediction_id as run from keyframe_private.work w
    join keyframe_private.provider_submits s on s.id = w.submit_id and s.ended_at is null where w.kind = 'cancel' order by 1`;
  return rows.map(({ run }) => run);
}

/** The submits of a prediction in the ledger, the first first. */
export async function submitsOf(sql: AnySql, id: string): Promise<Row[]> {
  return await sql<Row[]>`
    select * from keyframe_private.provider_submits where prediction_id = ${id} order by attempt, id`;
}

/** The search for the runs of a submit has ended. `lease`: of the search that this was; without one it was part of a submit. */
export async function endSearch(
  sql: AnySql,
  id: string,
  {
    attempt = 1,
    isUnproven = true,
    lease = null,
  }: { attempt?: number; isUnproven?: boolean; lease?: string | null } = {},
) {
  return await callWorker(sql, "record_search_ended", {
    ...{ prediction_id: id, first_attempt: attempt, last_attempt: attempt, is_unproven: isUnproven },
    ...(lease && (await leaseOf(sql, id, lease))),
  });
}

/** All searches are due, and their leases have expired. */
export async function makeSearchesDue(sql: AnySql): Promise<void> {
  await sql`update keyframe_private.work set due_at = now() - interval '1 second' where kind = 'search'`;
}
