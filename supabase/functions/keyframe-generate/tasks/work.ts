import { describeError } from "../../../../shared/platform/log.ts";
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
 * Searches the provider for runs of a prediction that ended with an unanswered submit. Recording an orphaned run schedules its
 * cancellation. When the provider cannot be asked, the task is claimed again after its lease. Throws DatabaseError.
 */
async function search(task: SearchTask, deps: Deps, signal: AbortSignal): Promise<void> {
  try {
    await recordOrphans(task, deps, signal);
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof SearchTooLong)) throw error;
    deps.log.warn("search_failed", { predictionId: task.id, reason: describeError(error) });
    return;
  }
  await deps.database.recordSearchEnded(task.id);
}

/** Cancels an orphaned run at the provider. Throws DatabaseError. */
export async function cancel(task: CancelTask, deps: Deps, signal: AbortSignal): Promise<void> {
  await deps.database.recordRunCanceled(task.provider_prediction_id, await cancelRun(task, deps, signal));
}

/** True when the run has ended or does not exist. Does not throw ProviderError. */
async function cancelRun(
  run: Pick<CancelTask, "id" | "provider_prediction_id">,
  { provider, log }: Pick<Deps, "provider" | "log">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await provider.cancel(run.provider_prediction_id, signal);
    return true;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const isOver = error.status !== null && [404, 409, 410, 422].includes(error.status);
    if (!isOver) log.warn("cancel_failed", { predictionId: run.id, status: error.status });
    return isOver;
  }
}
