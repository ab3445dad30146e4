import { describeError } from "../../../../shared/platform/log.ts";
import { ProviderError } from "../provider/provider-error.ts";
import type { Deps } from "./database.ts";
import { recordOrphans, SearchTooLong } from "./record-orphans.ts";
import type { SearchTask } from "./task.ts";

/**
 * Searches the provider for the run of an unanswered submit that no later submit searches for. Recording an orphaned run schedules its
 * cancellation. If the provider cannot be reached, the search is retried later. If its list is too long, the submit is lost, and the most
 * that it can cost is counted unless its run still calls back. Throws DatabaseError.
 */
export async function search(task: SearchTask, deps: Deps, signal: AbortSignal): Promise<void> {
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
