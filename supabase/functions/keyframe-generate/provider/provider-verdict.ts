import type { Reason } from "../database.ts";
import type { ProviderError } from "./provider-error.ts";

/** What happens to a prediction after a failed call of the provider. */
export type Verdict =
  /** `answered` false: the call may have had its effect. */
  | { fate: "later"; reason: Reason; answered: boolean; retryAfterSeconds: number | null }
  | { fate: "fail"; reason: Reason; retryable: boolean };

/** For any call: retry, because the cause can be the token, the account, the network or the provider. */
export function laterVerdict(error: ProviderError): Verdict & { fate: "later" } {
  const { status, said, retryAfterSeconds } = error;
  // A 5xx can come from a gateway although the provider has carried out the call.
  const answered = status !== null && status < 500 && status !== 408;
  return {
    fate: "later",
    reason: { code: codeOf(status), message: sentence(SENTENCES[codeOf(status)], said) },
    answered,
    retryAfterSeconds,
  };
}

/** For a create: some answers mean that this input or model can never work. */
export function createVerdict(error: ProviderError): Verdict {
  const { status, said } = error;
  if (status === 404) {
    const message = sentence("The provider does not have this model. An administrator has to choose another.", said);
    return { fate: "fail", reason: { code: "provider_model_not_found", message }, retryable: false };
  }
  if (status !== null && status >= 400 && status < 500 && ![401, 402, 403, 408, 409, 425, 429].includes(status)) {
    const message = sentence("The provider rejected the input. Change the prompt or the images.", said);
    return { fate: "fail", reason: { code: "provider_rejected_input", message }, retryable: false };
  }
  return laterVerdict(error);
}

const SENTENCES = {
  provider_unreachable: "The provider could not be reached.",
  provider_unavailable: "The provider is not available.",
  provider_rate_limited: "The provider admits no more requests just now.",
  provider_unauthorized: "The provider refuses our access. An administrator has to renew its token.",
  provider_payment_required: "The provider asks for payment. An administrator has to look at the account's billing.",
};

function codeOf(status: number | null): keyof typeof SENTENCES {
  if (status === null) return "provider_unreachable";
  if (status === 429) return "provider_rate_limited";
  if (status === 401 || status === 403) return "provider_unauthorized";
  return status === 402 ? "provider_payment_required" : "provider_unavailable";
}

function sentence(ours: string, said: string): string {
  return said === "" ? ours : `${ours} It said: ${said}`;
}
