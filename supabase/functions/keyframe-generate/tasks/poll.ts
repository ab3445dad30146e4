import { ProviderError, retryVerdict } from "../provider/provider-error.ts";
import type { Deps } from "./database.ts";
import type { PollTask } from "./task.ts";

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
