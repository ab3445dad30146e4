import { z } from "zod";
import { parseProgress } from "./progress.ts";
import { providerSentence } from "./provider-sentence.ts";

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
