import type { Deps } from "../deps.ts";
import { ProviderError } from "../provider/provider-error.ts";
import type { CancelTask } from "./task.ts";

/** Asks the provider to end a run that nobody waits for. Throws DatabaseError. */
export async function cancel(task: CancelTask, deps: Deps, signal: AbortSignal): Promise<void> {
  await deps.database.recordRunCanceled(task.provider_prediction_id, await cancelRun(task, deps, signal));
}

/** True when the run is over, or never was. Throws nothing of the provider's. */
export async function cancelRun(
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
