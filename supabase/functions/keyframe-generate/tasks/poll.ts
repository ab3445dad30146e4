import type { Deps } from "../deps.ts";
import { ProviderError } from "../provider/provider-error.ts";
import { laterVerdict } from "../provider/provider-verdict.ts";
import type { PollTask } from "./task.ts";

/** Asks the provider about a run, for its callbacks may be lost or impossible. Throws DatabaseError. */
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
    const { reason, retryAfterSeconds } = laterVerdict(error);
    await database.retryLater(task, reason, { retryAfterSeconds });
  }
}
