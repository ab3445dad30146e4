import { z } from "zod";
import type { CallDatabase } from "../platform/call-database.ts";
import { type ProviderPrediction, runState } from "./provider-prediction.ts";

const outcome = z.enum(["recorded", "unchanged", "unknown", "unproven", "ended", "stale", "replaced"]);
type RecordOutcome = z.infer<typeof outcome>;

/**
 * What is known of a run in the provider's list: why it may belong to a prediction (it names the prediction, or has equal text), and the
 * attempt that is not sent because of it.
 */
export type Found = { found_by: "name" | "text"; attempt_without_run: number | null };

/** `work_id` is the leased work that got this result. The work polls again in poll_seconds, or after the database's own interval if null. */
type RunSource = Partial<Found> & {
  prediction_id: string;
  attempt: number;
  work_id?: number;
  lease_token?: string;
  poll_seconds?: number | null;
};

/** Records the state of a provider run from an answer or a callback. Throws DatabaseError. */
export async function reportRun(
  call: CallDatabase,
  run: ProviderPrediction,
  source: RunSource,
): Promise<RecordOutcome> {
  return outcome.parse(await call("report_run", { run: runState(run), ...source }));
}
