import { UnsupportedInput } from "../../shared/replicate/build-input.ts";
import { OutputError } from "../../supabase/functions/keyframe-generate/files/open-output.ts";
import { ProviderError } from "../../supabase/functions/keyframe-generate/provider/provider-error.ts";
import { createVerdict, laterVerdict } from "../../supabase/functions/keyframe-generate/provider/provider-verdict.ts";
import { oneLine } from "../../local/stack/command-line.ts";

/** By the code that a prediction would have failed with. */
const REMEDY: Record<string, string> = {
  provider_unauthorized:
    "Make a token at https://replicate.com/account/api-tokens and set it as KEYFRAME_REPLICATE_API_TOKEN.",
  provider_payment_required: "Look at https://replicate.com/account/billing.",
  provider_model_not_found: "npm run models:check tells which row of models is wrong.",
  provider_rejected_input: "npm run models:check tells whether the model's inputs have changed.",
  provider_rate_limited: "Wait a minute and run it again.",
  provider_unavailable: "Look at https://www.replicatestatus.com and run it again.",
  provider_unreachable: "Is there a network, and is KEYFRAME_REPLICATE_API_BASE_URL right?",
  output_not_usable: "Is the host of the output in KEYFRAME_REPLICATE_OUTPUT_HOSTS?",
};

/** How far it had come: whether it was asked to stop, and the run's id once one is known to exist. */
export type Reached = { stopped: boolean; runId: string | null };

/** What went wrong and what to do about it, in one line without the token. */
export function whatToDo(error: unknown, { stopped, runId }: Reached): string {
  // Nobody knows whether a create that got no answer has started a run.
  const isLost = error instanceof ProviderError && runId === null && laterVerdict(error).answered === false;
  const look = isLost ? " It may have started a run all the same: see https://replicate.com/predictions." : "";
  if (stopped)
    return `It was asked to stop.${runId === null ? look : ` The run ${runId} was cancelled if it had not ended.`}`;
  if (error instanceof ProviderError) {
    const { reason } = createVerdict(error);
    return `${reason.message} ${REMEDY[reason.code] ?? ""}${look}`;
  }
  if (error instanceof OutputError) return `${error.message} ${REMEDY[error.code] ?? ""}`.trim();
  if (error instanceof UnsupportedInput) return `${error.message} npm run models:check may tell more.`;
  return oneLine(error);
}
