import { z } from "zod";
import type { CallDatabase } from "./call-database.ts";
import { type ProviderPrediction, providerState } from "./provider-prediction.ts";

const outcome = z.enum(["recorded", "unchanged", "duplicate", "unknown", "ended", "stale"]);
export type RecordOutcome = z.infer<typeof outcome>;

export type ProviderStateSource = {
  predictionId: string;
  attempt: number;
  run: ProviderPrediction;
  /** The `webhook-id` of a callback, by which a replay is known. */
  callbackId?: string;
  /** When to ask the provider next; null for the database's own interval. */
  pollAfterSeconds?: number | null;
};

/** Records what the provider says about a run, whether it came as an answer or as a callback. Throws DatabaseError. */
export async function recordProviderState(call: CallDatabase, source: ProviderStateSource): Promise<RecordOutcome> {
  const answer = await call("record_provider_state", {
    prediction_id: source.predictionId,
    attempt: source.attempt,
    ...providerState(source.run),
    callback_id: source.callbackId ?? null,
    poll_after_seconds: source.pollAfterSeconds ?? null,
  });
  return outcome.parse(answer);
}
