import { z } from "zod";
import type { CallDatabase } from "../platform/call-database.ts";
import { providerSentence } from "../platform/log.ts";

/**
 * A prediction as Replicate shows it, in answers and callbacks alike. Loose: only what is used is named, and `output`
 * and `error` differ from model to model. The id goes into paths, so its characters are checked.
 */
export const providerPrediction = z.looseObject({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
  status: z.enum(["starting", "processing", "succeeded", "failed", "canceled", "aborted"]),
  output: z.unknown().optional(),
  error: z.unknown().optional(),
  logs: z.string().nullish(),
});
export type ProviderPrediction = z.infer<typeof providerPrediction>;

/** The arguments of record_provider_state that tell what the provider says. */
export function providerState(run: ProviderPrediction) {
  return {
    provider_prediction_id: run.id,
    provider_status: run.status,
    output_url: run.status === "succeeded" ? pickOutputUrl(run.output) : null,
    progress: run.status === "processing" ? parseProgress(run.logs) : null,
    error_message: providerSentence(run.error) || null,
  };
}

/** The address of the output: a string, or the first of a list. Whether it may be fetched is decided when it is. */
function pickOutputUrl(output: unknown): string | null {
  const first: unknown = Array.isArray(output) ? output[0] : output;
  return typeof first === "string" && first.length <= 2048 && URL.canParse(first) ? first : null;
}

/** A bar as tqdm and its like draw it, perhaps redrawn after a carriage return: `video:  45%|████▌     | 45/100 [00:12<00:15]`. */
const BAR = /(?:^|[\s:])(\d{1,3})%\s*\|/g;
/** Progress stands at the end of the logs, so nothing before the last of them is read. */
const TAIL = 4000;

/** How far a run is, 0 to 1, by the last progress bar in its logs; null when there is none. */
export function parseProgress(logs: string | null | undefined): number | null {
  const bars = [...(logs ?? "").slice(-TAIL).matchAll(BAR)];
  const percent = bars.at(-1)?.[1];
  return percent === undefined ? null : Math.min(1, Number(percent) / 100);
}

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
