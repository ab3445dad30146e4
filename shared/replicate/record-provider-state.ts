import { z } from "zod";
import type { CallDatabase } from "../platform/call-database.ts";
import { type ProviderPrediction, providerState } from "./provider-prediction.ts";

const outcome = z.enum(["recorded", "unchanged", "duplicate", "unknown", "unproven", "ended", "stale"]);
export type RecordOutcome = z.infer<typeof outcome>;

/** Why a run in the provider's list may be a prediction's: something in it names the prediction, or it has an equal text. */
export type FoundBy = "name" | "text";

export type ProviderStateSource = {
  predictionId: string;
  attempt: number;
  run: ProviderPrediction;
  /** The `webhook-id` of a callback, by which a replay is known. */
  callbackId?: string;
  /** When to ask the provider next; null for the database's own interval. */
  pollAfterSeconds?: number | null;
  foundBy?: FoundBy | undefined;
};

/** Records what the provider says about a run, whether it came as an answer or as a callback. Throws DatabaseError. */
export async function recordProviderState(call: CallDatabase, source: ProviderStateSource): Promise<RecordOutcome> {
  const answer = await call("record_provider_state", {
    prediction_id: source.predictionId,
    attempt: source.attempt,
    ...providerState(source.run),
    callback_id: source.callbackId ?? null,
    poll_after_seconds: source.pollAfterSeconds ?? null,
    found_by: source.foundBy ?? null,
  });
  return outcome.parse(answer);
}
