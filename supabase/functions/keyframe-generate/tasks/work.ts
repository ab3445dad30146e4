import { DatabaseError } from "../../../../shared/platform/call-database.ts";
import { describeError } from "../../../../shared/platform/log.ts";
import { isOver } from "../../../../shared/replicate/provider-prediction.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/limits.ts";
import { type Storage, StorageError, type StoredFile } from "../files/storage.ts";
import { ProviderError, retryVerdict } from "../provider/provider-error.ts";
import type { Claimed } from "./claim.ts";
import type { Deps } from "./database.ts";
import { recordOrphans, SearchTooLong } from "./find-orphan.ts";
import { submit } from "./submit.ts";
import {
  type CancelTask,
  identify,
  type PollTask,
  type RemoveTask,
  type SearchTask,
  type Task,
  task as taskSchema,
} from "./task.ts";

/** maxOpen is the sum of what places_of() in SQL allows: 96 for `ask` and 36 for `copy`. */
export const GENERATE_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 132, workMs: 80_000 };

/** Does a claimed task and records its result. Throws when the result could not be recorded. */
export async function work(claimed: Claimed, deps: Deps, signal: AbortSignal): Promise<void> {
  const parsed = taskSchema.safeParse(claimed);
  if (!parsed.success) {
    const fields = parsed.error.issues.map(({ path }) => path.join("."));
    return deps.log.error("task_unreadable", { task: claimed.task, ...identify(claimed), fields });
  }
  const task = parsed.data;
  try {
    await perform(task, deps, signal);
  } catch (error) {
    // A failed database call is retried after growing intervals; without an answer, when the lease expires.
    if (error instanceof DatabaseError && error.code !== "")
      await deps.database
        .retryWork(task, error.code)
        .catch((failure) => deps.log.warn("work_not_returned", { ...identify(task), reason: describeError(failure) }));
    throw error;
  }
}

async function perform(task: Task, deps: Deps, signal: AbortSignal): Promise<void> {
  switch (task.task) {
    case "submit":
      return await submit(task, deps, signal);
    case "search":
      return await search(task, deps, signal);
    case "poll":
      return await poll(task, deps, signal);
    case "store":
      // Loaded with the first output: node:crypto takes a fifth of the function's start.
      return await (await import("./store.ts")).store(task, deps, signal);
    case "cancel":
      return await cancel(task, deps, signal);
    case "remove":
      return await removeFiles(task, deps, signal);
    case "expire":
      return await deps.database.expire(task);
    case "admit":
    case "continue":
      return await deps.database.admit(task);
  }
}

/** Reads a provider run, because callbacks can be lost or impossible. Throws DatabaseError. */
export async function poll(task: PollTask, { database, provider, log }: Deps, signal: AbortSignal): Promise<void> {
  try {
    const run = await provider.get(task.provider_prediction_id, signal);
    await database.recordState(task, run, task);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    log.warn("poll_failed", { predictionId: task.id, status: error.status });
    if (error.status === 404) {
      const message = "The provider no longer knows this run. Run the step again.";
      await database.fail(task, { code: "provider_lost", message }, true);
      return;
    }
    const { reason, retryAfterSeconds } = retryVerdict(error);
    await database.retryPrediction(task, reason, { retryAfterSeconds });
  }
}

/**
 * Searches the provider for the runs of an unanswered submit that no later one searches for. Recording an orphaned run schedules its
 * cancellation. When the provider cannot be reached, it is retried later. Throws DatabaseError.
 */
async function search(task: SearchTask, deps: Deps, signal: AbortSignal): Promise<void> {
  try {
    const { unproven } = await recordOrphans(task, deps, signal);
    await deps.database.recordSearchEnded(task.id, task.attempt, task.attempt, unproven > 0, task);
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof SearchTooLong)) throw error;
    deps.log.warn("search_failed", { predictionId: task.id, reason: describeError(error) });
    await deps.database.retryWork(task, "provider_unavailable");
  }
}

/** Cancels an orphaned run at the provider, and records how it ended. Throws DatabaseError. */
export async function cancel(task: CancelTask, { database, provider, log }: Deps, signal: AbortSignal): Promise<void> {
  const { provider_prediction_id } = task;
  try {
    const run = await provider.cancel(provider_prediction_id, signal);
    if (isOver(run)) return void (await database.recordState(task, run, task));
    await database.recordRunNotCanceled(task, false);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    log.warn("cancel_failed", { predictionId: task.id, status: error.status });
    await database.recordRunNotCanceled(task, error.status === 404);
  }
}

/** Removes files from Storage. Refused ones are retried later. Throws DatabaseError. */
async function removeFiles(task: RemoveTask, { database, storage, log }: Deps, signal: AbortSignal): Promise<void> {
  const files = await database.beginRemoval(task);
  if (files === null) return;
  const problems: StorageError[] = [];
  const buckets = [...Map.groupBy(files, ({ bucket }) => bucket)];
  const removals = buckets.map(([bucket, files]) => removeFrom(storage, bucket, files, problems, signal));
  const refused = (await Promise.all(removals)).flat();

  await database.recordFilesRemoved(task, refused);
  const counts = Object.fromEntries(buckets.map(([bucket, files]) => [bucket, files.length]));
  const fields = { ...identify(task), ...counts };
  if (refused.length === 0) return log.info("files_removed", fields);
  log.warn("files_not_removed", { ...fields, refused: refused.length, reason: describeError(problems[0]) });
}

/** Statuses that would be the same for every name; null: no answer, or the task's time is over. */
const NOT_ABOUT_NAMES: readonly (number | null)[] = [null, 401, 408, 429, 502, 503, 504];

/**
 * Removes files of one bucket, normally in one request, and returns those that are refused. Storage refuses the whole request for one bad
 * name: then each half is tried.
 */
async function removeFrom(
  storage: Storage,
  bucket: StoredFile["bucket"],
  files: StoredFile[],
  problems: StorageError[],
  signal: AbortSignal,
): Promise<StoredFile[]> {
  try {
    const names = files.map(({ name }) => name);
    await storage.remove(bucket, names, signal);
    return [];
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    problems.push(error);
    if (files.length === 1 || NOT_ABOUT_NAMES.includes(error.status)) return files;
    const half = Math.ceil(files.length / 2);
    const first = await removeFrom(storage, bucket, files.slice(0, half), problems, signal);
    return [...first, ...(await removeFrom(storage, bucket, files.slice(half), problems, signal))];
  }
}
