import { DatabaseError } from "../../../../shared/platform/call-database.ts";
import { describeError } from "../../../../shared/platform/log.ts";
import { isOver } from "../../../../shared/replicate/provider-prediction.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/limits.ts";
import { ProviderError, retryVerdict } from "../provider/provider-error.ts";
import type { Claimed } from "./claim.ts";
import type { Deps } from "./database.ts";
import { recordOrphans, SearchTooLong } from "./record-orphans.ts";
import { removeFiles } from "./remove-files.ts";
import { submit } from "./submit.ts";
import { type CancelTask, identify, type PollTask, type SearchTask, type Task, task as taskSchema } from "./task.ts";

/** maxOpen is the sum of what capacity_of() in SQL allows: 96 for `ask` and 36 for `copy`. */
export const GENERATE_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 132, workMs: 80_000 };

/** Runs a claimed task and records its result. Throws when the result could not be recorded. */
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
    case "give_up":
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
    await database.reportRun(task, run, task);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    log.warn("poll_failed", { predictionId: task.id, status: error.status });
    if (error.status === 404) {
      const message = "The provider no longer knows this run. Run the step again.";
      await database.fail(task, { code: "provider_lost", message }, { retryable: true });
      return;
    }
    const { reason, retryAfterSeconds } = retryVerdict(error);
    await database.retryPrediction(task, reason, { retryAfterSeconds });
  }
}

/**
 * Searches the provider for the run of an unanswered submit that no later submit searches for. Recording an orphaned run schedules its
 * cancellation. If the provider cannot be reached, the search is retried later. If its list is too long, the submit is lost: it counts with
 * the most that it can cost, unless its run still calls back. Throws DatabaseError.
 */
async function search(task: SearchTask, deps: Deps, signal: AbortSignal): Promise<void> {
  const end = async (isUnproven: boolean) =>
    void (await deps.database.recordSearchEnded(task.id, task.attempt, task.attempt, isUnproven, task));
  try {
    const { unproven } = await recordOrphans(task, deps, signal);
    await end(unproven > 0);
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof SearchTooLong)) throw error;
    deps.log.warn("search_failed", { predictionId: task.id, reason: describeError(error) });
    if (error instanceof SearchTooLong) return await end(true);
    await deps.database.retryWork(task, "provider_unavailable");
  }
}

/** Cancels an orphaned run at the provider, and records how it ended. Throws DatabaseError. */
export async function cancel(task: CancelTask, { database, provider, log }: Deps, signal: AbortSignal): Promise<void> {
  const { provider_prediction_id } = task;
  try {
    const run = await provider.cancel(provider_prediction_id, signal);
    if (isOver(run)) return void (await database.reportRun(task, run, task));
    await database.recordRunNotCanceled(task, false);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    log.warn("cancel_failed", { predictionId: task.id, status: error.status });
    await database.recordRunNotCanceled(task, error.status === 404);
  }
}
