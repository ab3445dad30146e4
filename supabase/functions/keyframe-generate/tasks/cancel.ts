import { isOver } from "../../../../shared/replicate/provider-prediction.ts";
import { ProviderError } from "../provider/provider-error.ts";
import type { Deps } from "./database.ts";
import type { CancelTask } from "./task.ts";

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
