import { z } from "zod";
import type { FailureCode } from "../../../../shared/contract/predictions.ts";
import { createBodyReader } from "../../../../shared/http/read-body.ts";
import { jsonText } from "../../../../shared/platform/json-text.ts";
import { redactedLine } from "../../../../shared/platform/log.ts";
import { retryAfterSeconds } from "../../../../shared/http/retry-after.ts";
import { contentRejected, isAboutMoney, readFailure, type Stage } from "../../../../shared/replicate/run-failure.ts";

/**
 * A failed call of the provider. `status` is null if no complete answer came; then the call may have taken effect.
 * `explanation` is the provider's explanation, safe to show to the owner.
 */
export class ProviderError extends Error {
  readonly explanation: string;
  readonly retryAfterSeconds: number | null;

  constructor(
    readonly status: number | null,
    more: { explanation?: string; retryAfterSeconds?: number | null; cause?: unknown } = {},
  ) {
    super(status === null ? "the provider did not answer" : `the provider answered ${status}`, { cause: more.cause });
    this.name = "ProviderError";
    this.explanation = more.explanation ?? "";
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

const problem = z.object({ detail: z.unknown(), title: z.unknown(), retry_after: z.unknown() }).partial();

const BODY = { maxBytes: 64 * 1024, maxMs: 20_000 };
const readBody = createBodyReader({ maxTotalBytes: Number.POSITIVE_INFINITY }); // bounded by the worker's capacity
const MAX_WAIT_SECONDS = 3600;

/** Reads an error response. Never throws, even when the body cannot be read. */
export async function readRefusal(response: Response, now: number): Promise<ProviderError> {
  const body = await readBody(response, BODY).catch(() => new Uint8Array());
  const { detail, title, retry_after } = jsonText.pipe(problem).safeParse(new TextDecoder().decode(body)).data ?? {};
  const wait = retryAfterSeconds(retry_after, now) ?? retryAfterSeconds(response.headers.get("retry-after"), now);
  return new ProviderError(response.status, {
    explanation: redactedLine(detail ?? title),
    retryAfterSeconds: wait === null ? null : Math.min(wait, MAX_WAIT_SECONDS),
  });
}

/** Why a task failed, as stored in the row: a stable code, a sentence for the owner, and for content_rejected its stage. */
export type Reason<Code = FailureCode> = { code: Code; message: string; stage?: Stage };

/** Why a task is retried. The two codes added here never end a task. */
export type RetryReason = Reason<FailureCode | "provider_rate_limited" | "output_unreachable">;

/** What happens to a prediction after a failed call of the provider. */
export type Verdict =
  /** If `providerAnswered` is false, the call may have taken effect. */
  | { action: "retry"; reason: RetryReason; providerAnswered: boolean; retryAfterSeconds: number | null }
  | { action: "fail"; reason: Reason; retryable: boolean }
  /** The provider does not have the model, so nothing was made. Another model can make the prediction. */
  | { action: "change_model"; reason: Reason };

/** The verdict for any call is to retry, because the cause can be the token, the account, the network or the provider. */
export function retryVerdict(error: ProviderError): Verdict & { action: "retry" } {
  const { status, explanation, retryAfterSeconds } = error;
  // A 5xx can come from a gateway although the provider has carried out the call.
  const providerAnswered = status !== null && status < 500 && status !== 408;
  return {
    action: "retry",
    reason: { code: codeOf(status), message: sentence(SENTENCES[codeOf(status)], explanation) },
    providerAnswered,
    retryAfterSeconds,
  };
}

/** The verdict for a create. Some answers mean that this input or model can never work. */
export function createVerdict(error: ProviderError): Verdict {
  const { status, explanation } = error;
  if (isModelGone(status, explanation)) {
    const message = sentence("The provider does not have this model. Choose another, or name none.", explanation);
    return { action: "change_model", reason: { code: "model_unavailable", message } };
  }
  if (status !== null && status >= 400 && status < 500 && isAboutMoney(explanation)) {
    const code = "provider_payment_required";
    return { ...retryVerdict(error), reason: { code, message: sentence(SENTENCES[code], explanation) } };
  }
  if (isOurSetup(status, explanation)) {
    const message = sentence(
      "The provider rejected the format of the request. An administrator must correct the setup.",
      explanation,
    );
    return { action: "fail", reason: { code: "provider_refused_setup", message }, retryable: true };
  }
  if (status !== null && ABOUT_THE_INPUT.includes(status)) {
    // Nothing was made yet, whatever the message says.
    if (readFailure(explanation).kind === "content_rejected") {
      const reason = {
        code: "content_rejected",
        message: contentRejected("input", explanation),
        stage: "input",
      } as const;
      return { action: "fail", reason, retryable: false };
    }
    const message = sentence("The provider rejected the input. Change the prompt or the images.", explanation);
    return { action: "fail", reason: { code: "provider_rejected_input", message }, retryable: false };
  }
  return retryVerdict(error);
}

const ABOUT_THE_INPUT = [400, 413, 422];

/**
 * Whether the provider refuses what the service adds to each request (`webhook: must be HTTPS`) or how the service sends it. The prompt is
 * then not at fault.
 */
function isOurSetup(status: number | null, explanation: string): boolean {
  if (status !== null && ABOUT_THE_INPUT.includes(status)) {
    return /\bwebhook(?:_\w+)?(?: url)?(?::| must| is| has| should| cannot| needs| does)|\bcancel-after\b/i.test(
      explanation,
    );
  }
  const others = [401, 402, 403, 404, 408, 409, 410, 425, 429];
  return status !== null && status >= 400 && status < 500 && !others.includes(status);
}

/**
 * Replicate answers 404 or 410 for a missing official model, and 422 for a missing version of another model: "The specified version does not
 * exist …", "This version has been disabled …". An answer without the provider's explanation came from another server.
 */
function isModelGone(status: number | null, explanation: string): boolean {
  if (status === 404 || status === 410) return explanation !== "";
  return status === 422 && /\bversion (?:does not exist|has been disabled)/i.test(explanation);
}

const SENTENCES = {
  provider_unreachable: "The provider could not be reached.",
  provider_unavailable: "The provider is not available.",
  provider_rate_limited: "The provider is rate-limiting us.",
  provider_unauthorized: "The provider rejected the service's token. An administrator must renew it.",
  provider_payment_required: "The provider requires payment. An administrator must check the account's billing.",
};

function codeOf(status: number | null): keyof typeof SENTENCES {
  if (status === null) return "provider_unreachable";
  if (status === 429) return "provider_rate_limited";
  if (status === 401 || status === 403) return "provider_unauthorized";
  return status === 402 ? "provider_payment_required" : "provider_unavailable";
}

function sentence(ours: string, explanation: string): string {
  return explanation === "" ? ours : `${ours} The provider said: “${explanation}”`;
}
