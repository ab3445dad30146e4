import { describeError } from "../../../../shared/platform/log.ts";
import { isOver } from "../../../../shared/replicate/provider-prediction.ts";
import { COMMON_LIMITS, type WorkerLimits } from "../../../../shared/worker/worker-limits.ts";
import type { Deps, Claimed } from "../database.ts";
import { recordOrphans, SearchTooLong } from "./find-orphan.ts";
import { ProviderError } from "../provider/provider-error.ts";
import { retryVerdict } from "../provider/provider-verdict.ts";
import { removeFiles } from "./remove-files.ts";
import { store } from "./store.ts";
import { submit } from "./submit.ts";
import { type CancelTask, identify, type PollTask, type SearchTask, task as taskSchema } from "./task.ts";

export const GENERATE_LIMITS: WorkerLimits = { ...COMMON_LIMITS, maxOpen: 32, workMs: 80_000 };

/** Does a claimed task and records its result. Throws when the result could not be recorded. */
export function createWork(deps: Deps): (claimed: Claimed, signal: AbortSignal) => Promise<void> {
  return async (claimed, signal) => {
    const parsed = taskSchema.safeParse(claimed);
    if (!parsed.success) {
      const fields = parsed.error.issues.map(({ path }) => path.join("."));
      deps.log.error("task_unreadable", { task: claimed.task, ...identify(claimed), fields });
      return;
    }
    const task = parsed.data;
    switch (task.task) {
      case "submit":
        return await submit(task, deps, signal);
      case "search":
        return await search(task, deps, signal);
      case "poll":
        return await poll(task, deps, signal);
      case "store":
        return await store(task, deps, signal);
      case "cancel":
        return await cancel(task, deps, signal);
      case "remove":
        return await removeFiles(task, deps, signal);
    }
  };
}

/** Reads a provider run, because callbacks can be lost or impossible. Throws DatabaseError. */
export async function poll(task: PollTask, { database, provider, log }: Deps, signal: AbortSignal): Promise<void> {
  try {
    const run = await provider.get(task.provider_prediction_id, signal);
    const outcome = await database.recordState(task, run);
    if (outcome === "unchanged") await database.pollLater(task);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    log.warn("poll_failed", { predictionId: task.id, status: error.status });
    if (error.status === 404) {
      const message = "The provider no longer knows this run. Run the step again.";
      await database.fail(task, { code: "provider_lost", message }, true);
      return;
    }
    const { reason, retryAfterSeconds } = retryVerdict(error);
    await database.retryLater(task, reason, { retryAfterSeconds });
  }
}

/**
 * Searches the provider for the runs of an unanswered submit that no later one searches for. Recording an orphaned run schedules its
 * cancellation. When the provider cannot be asked, the task is claimed again after its lease. Throws DatabaseError.
 */
async function search(task: SearchTask, deps: Deps, signal: AbortSignal): Promise<void> {
  try {
    const { unproven } = await recordOrphans(task, deps, signal);
    await deps.database.recordSearchEnded(task.id, task.attempt, task.attempt, unproven > 0);
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof SearchTooLong)) throw error;
    deps.log.warn("search_failed", { predictionId: task.id, reason: describeError(error) });
  }
}

/** Cancels an orphaned run at the provider, and records how it ended. Throws DatabaseError. */
export async function cancel(task: CancelTask, { database, provider, log }: Deps, signal: AbortSignal): Promise<void> {
  const { provider_prediction_id } = task;
  try {
    const run = await provider.cancel(provider_prediction_id, signal);
    if (isOver(run)) return void (await database.recordState(task, run));
    await database.recordRunNotCanceled(provider_prediction_id, false);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    log.warn("cancel_failed", { predictionId: task.id, status: error.status });
    await database.recordRunNotCanceled(provider_prediction_id, error.status === 404);
  }
}
