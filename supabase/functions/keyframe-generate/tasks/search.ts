import { describeError } from "../../../../shared/platform/describe-error.ts";
import type { Deps } from "../deps.ts";
import { recordOrphans, SearchTooLong } from "../provider/find-orphan.ts";
import { ProviderError } from "../provider/provider-error.ts";
import type { SearchTask } from "./task.ts";

/**
 * Looks for runs of a prediction that ended while a submit of it had no answer. Recording one that nobody waits for has it
 * cancelled. Where the provider cannot be asked, the task comes back when its lease has ended. Throws DatabaseError.
 */
export async function search(task: SearchTask, deps: Deps, signal: AbortSignal): Promise<void> {
  try {
    for await (const _outcome of recordOrphans(task, deps, signal));
  } catch (error) {
    if (!(error instanceof ProviderError || error instanceof SearchTooLong)) throw error;
    deps.log.warn("search_failed", { predictionId: task.id, reason: describeError(error) });
    return;
  }
  await deps.database.recordSearchEnded(task.id);
}
