import { createHash } from "node:crypto";
import { callWorker, claimOnly, type Task } from "../database/calls.ts";
import { exchange, record, resultOf } from "../database/webhooks.ts";
import { isOver, type Run, stateOf } from "./provider.ts";
import { type Held, MICROS, refusalIn, type Walk } from "./walk.ts";

// What the workers do, a part at a time: between the parts, anything else may happen.

type Worker = Walk["workers"][number];
type Answer = Record<string, unknown>;

/** The answer of a worker's function. Null: somebody held what it needs, and the work is given back. */
async function tell<T>(walk: Walk, task: Task, name: string, args: Answer): Promise<T | null> {
  try {
    return await callWorker<T>(walk.db.sql, name, args);
  } catch (error) {
    refusalIn(error);
    await callWorker(walk.db.sql, "retry_work", { ...leaseOf(task), code: "55P03" }).catch(refusalIn);
    return null;
  }
}
const leaseOf = ({ work_id, lease_token }: Task) => ({ work_id, lease_token });

const tellState = (walk: Walk, task: Task, run: Run, more: Answer = {}, state = stateOf(run)) =>
  tell<string>(walk, task, "report_run", {
    ...{ prediction_id: run.prediction, attempt: run.attempt, run: state, ...leaseOf(task), ...more },
  });

/** A callback of a run: of any state that it has had, for its own prediction or, if we know the run, for another that its address names. */
export async function callBack(walk: Walk, run: Run, state: number, named = run.prediction): Promise<void> {
  const { db } = walk;
  const isOfAnother = named !== run.prediction;
  if (
    isOfAnother &&
    (await db.sql`select from keyframe_private.provider_submits where provider_prediction_id = ${run.id}`).count === 0
  )
    return;
  const args = { prediction_id: named, attempt: run.attempt, run: run.states[state % run.states.length] };
  const outcome = await callWorker<string>(db.sql, "report_run", args).catch(refusalIn);
  if (isOfAnother && outcome !== "unknown" && outcome !== null)
    throw new Error(`A callback of ${run.prediction} that names ${named} was answered ${outcome}.`);
}

/** The lease, of 90 s, is longer than a walk takes on a busy machine, and shorter than `wait`, which alone is to end leases. */
export async function claimInto(walk: Walk, worker: Worker, most: number): Promise<void> {
  const tasks = await claimOnly(walk.db.sql, most, { worker: worker.id });
  worker.tasks.push(...tasks.map((task) => ({ task, isBegun: false, run: null })));
}

/** The next part of a task that a worker holds. `how` chooses what happens; 0 is the best. */
export async function proceed(walk: Walk, worker: Worker, held: Held, how: number): Promise<void> {
  worker.tasks.splice(worker.tasks.indexOf(held), 1);
  const { task } = held;
  switch (task.task) {
    case "submit":
      if (!held.isBegun) return await beginSubmit(walk, worker, held, how);
      return await endSubmit(walk, worker, held, how);
    case "search":
      await recordFound(walk, task, null);
      return void (await endSearch(walk, task, Number(task.attempt), Number(task.attempt), leaseOf(task)));
    case "poll": {
      const run = walk.provider.runs.find(({ id }) => id === task.provider_prediction_id);
      if (!run) throw new Error(`The provider never made ${task.provider_prediction_id}.`);
      if (how === 1) return await retryLater(walk, task, {});
      return void (await tellState(walk, task, run));
    }
    case "store":
      return await store(walk, task, how);
    case "cancel": {
      const run = walk.provider.runs.find(({ id }) => id === task.provider_prediction_id);
      if (!run || how === 1)
        return void (await tell(walk, task, "record_run_not_canceled", { ...leaseOf(task), is_unknown: !run }));
      walk.provider.cancel(run);
      return void (await tellState(walk, task, run));
    }
    case "remove":
      return await removeFiles(walk, task, how);
    case "expire":
    case "give_up":
      return void (await tell(walk, task, "expire_prediction", leaseOf(task)));
    case "admit":
    case "continue":
      return void (await tell(walk, task, "admit_predictions", leaseOf(task)));
  }
}

async function beginSubmit(walk: Walk, worker: Worker, held: Held, how: number): Promise<void> {
  const begun = await tell<Answer>(walk, held.task, "begin_submit", leaseOf(held.task));
  if (begun === null || how === 7) return; // nothing to send; or the worker ends before it sends it
  const task = { ...held.task, ...begun } as Task;
  if (task.search_attempt !== null) {
    if (await recordFound(walk, task, task.attempt)) return;
    const isOpen = await endSearch(walk, task, Number(task.search_attempt), task.attempt - 1, {});
    if (!isOpen) return;
  }
  worker.tasks.push({ task, isBegun: true, run: null });
}

async function endSubmit(walk: Walk, worker: Worker, held: Held, how: number): Promise<void> {
  const { task } = held;
  if (held.run === null) {
    if (how === 1) return await retryLater(walk, task, { code: "provider_rate_limited", retry_after_seconds: 5 });
    if (how === 2) return await retryLater(walk, task, {});
    if (how === 3) {
      const failed = {
        code: "input_rejected",
        message: "Refused.",
        retryable: false,
        attempt_without_run: task.attempt,
      };
      return void (await tell(walk, task, "fail_prediction", { ...leaseOf(task), prediction_id: task.id, ...failed }));
    }
    const { prompt } = Object(task.input);
    const micros = MICROS[String(task.model)] ?? 0;
    const step = String(task.step) as Run["step"];
    const open = walk.provider.runs.find((run) => run.prediction === task.id && !isOver(run));
    if (open)
      throw new Error(`Prediction ${task.id} is submitted again while its run ${open.id} goes on: it is paid twice.`);
    const run = walk.provider.create({ prediction: task.id, attempt: task.attempt, prompt, micros, step });
    if (how === 4) return; // the worker ends before the answer
    if (how === 5) return await retryLater(walk, task, { attempt_without_run: null, unanswered_attempt: task.attempt }); // it is lost
    worker.tasks.push({ ...held, run });
    return;
  }
  await tellState(walk, task, held.run);
  if (how === 6) await tellState(walk, task, held.run); // repeated, because the answer was lost
}

/** Records the runs of a prediction that the provider's list has, newest first, as record-orphans.ts does; for a submit one is enough. */
async function recordFound(walk: Walk, task: Task, attempt: number | null): Promise<boolean> {
  const runs = walk.provider.runs.filter(({ prediction }) => prediction === task.id).toReversed();
  const ofSubmit = attempt === null ? { work_id: null, lease_token: null } : { attempt_without_run: attempt };
  let isFound = false;
  for (const run of runs) {
    const more = { attempt: task.search_attempt, found_by: "name", ...ofSubmit };
    const outcome = await tellState(walk, task, run, more);
    if (outcome === null || ["unknown", "unproven", "replaced"].includes(outcome)) continue;
    isFound = true;
    if (attempt !== null) break;
  }
  return isFound;
}

const endSearch = (walk: Walk, task: Task, first_attempt: number, last_attempt: number, lease: object) =>
  tell<boolean>(walk, task, "record_search_ended", {
    ...{ prediction_id: task.id, first_attempt, last_attempt, is_unproven: false, ...lease },
  });

async function retryLater(walk: Walk, task: Task, more: Answer): Promise<void> {
  const said = { code: "provider_unavailable", message: "It is away.", attempt_without_run: task.attempt, ...more };
  if (task.task !== "submit") said.attempt_without_run = null as never;
  await tell(walk, task, "retry_prediction_later", { ...leaseOf(task), prediction_id: task.id, ...said });
}

/** Writes the file, and completes the prediction or not. */
async function store(walk: Walk, task: Task, how: number): Promise<void> {
  const isVideo = task.step === "video";
  if (how === 1) return await retryLater(walk, task, { code: "output_expired" });
  if (how === 2) {
    const failed = { code: "output_not_usable", message: "Not usable.", retryable: true };
    return void (await tell(walk, task, "fail_prediction", { ...leaseOf(task), prediction_id: task.id, ...failed }));
  }
  const name = `${task.owner_id}/${task.project_id}/${task.id}.${isVideo ? "mp4" : "png"}`;
  const file = {
    bucket: "keyframe-outputs",
    name,
    bytes: 1024,
    sha256: createHash("sha256").update(name).digest("hex"),
  };
  walk.files.set(`${file.bucket}/${name}`, file);
  await walk.db.sql`
    insert into storage.objects (bucket_id, name) values ('keyframe-outputs', ${name}) on conflict do nothing`;
  if (how === 3) return; // the worker ends before it records this
  const facts = isVideo ? { duration_seconds: 5, has_audio: false } : {};
  const made = {
    output_path: name,
    content_type: isVideo ? "video/mp4" : "image/png",
    width: 1280,
    height: 720,
    ...facts,
  };
  await tell(walk, task, "complete_prediction", { ...leaseOf(task), bytes: file.bytes, sha256: file.sha256, ...made });
}

async function removeFiles(walk: Walk, task: Task, how: number): Promise<void> {
  type File = { bucket: string; name: string };
  const files = await tell<File[]>(walk, task, "begin_removal", leaseOf(task));
  if (files === null) return;
  const refused = how === 1 ? files.slice(0, 1) : [];
  for (const { bucket, name } of files.slice(refused.length)) await removeFile(walk, bucket, name);
  if (how !== 2) await tell(walk, task, "record_files_removed", { ...leaseOf(task), refused });
}

export async function removeFile(walk: Walk, bucket: string, name: string): Promise<void> {
  walk.files.delete(`${bucket}/${name}`);
  await walk.db.sql.begin(async (sql) => {
    await sql`set local storage.allow_delete_query = 'true'`; // as Storage does
    await sql`delete from storage.objects where bucket_id = ${bucket} and name = ${name}`;
  });
}

/** Leases deliveries and sends them: 0 is answered 200, 1 500, 2 not at all. What is sent is recorded by a later call, or never. */
export async function deliver(walk: Walk, worker: Worker, most: number, how: number): Promise<void> {
  const { deliveries } = await exchange(walk.db.sql, { worker: worker.id, maxRows: most });
  const hooks = await walk.db.sql<{ id: string; url: string }[]>`select id, url from keyframe.webhook_endpoints`;
  for (const delivery of deliveries) {
    const url = hooks.find(({ id }) => id === delivery.endpoint_id)?.url;
    if (url === undefined) continue; // deleted meanwhile
    const hook = url.slice(url.lastIndexOf("/") + 1);
    const { type } = JSON.parse(delivery.body);
    const arrival = walk.arrivals.get(`${hook} ${delivery.event_id}`) ?? {
      ...{ hook, event_id: delivery.event_id, type, taken: 0, misbehaved: 0 },
      body_md5: createHash("md5").update(delivery.body).digest("hex"),
    };
    arrival[how === 0 ? "taken" : "misbehaved"] += 1;
    walk.arrivals.set(`${hook} ${delivery.event_id}`, arrival);
    worker.deliveries.push(delivery);
    worker.outcomes.set(delivery, how);
  }
}

export async function recordDeliveries(walk: Walk, worker: Worker, isRepeated: boolean): Promise<void> {
  const results = worker.deliveries.map((delivery) => {
    const how = worker.outcomes.get(delivery);
    const said = how === 0 ? { status_code: 200 } : how === 1 ? { status_code: 500 } : { error: "timeout" };
    return resultOf(delivery, said);
  });
  if (!isRepeated) worker.deliveries = [];
  if (results.length > 0) await record(walk.db.sql, results);
}
