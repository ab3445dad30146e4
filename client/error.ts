import type { ErrorCode, ErrorDetail } from "../shared/http/errors.ts";

export type { ErrorCode, ErrorDetail };

/** The budget that refused a start, in millionths of a dollar. The service's budget has no amounts. */
export type ExceededBudget = {
  /** client: what this app (OAuth client) or key may spend for you in a day. */
  scope: "owner" | "client" | "service";
  period: "day" | "month";
  estimateMicros: number;
  limitMicros?: number;
  settledMicros?: number;
  heldMicros?: number;
  availableMicros?: number;
  resetsAt: string;
};

/** The prepaid balance that refused a start, in millionths of a dollar: what is left, and the most that the start can cost. */
export type ExhaustedBalance = { availableMicros: number; estimateMicros: number };

/**
 * The codes of the service, and those of the client:
 * - `network`: no complete answer arrived in time. The request may have been carried out.
 * - `no_token`: getToken failed, or did not return in time. Nothing was sent.
 * - `timeout`: waitFor's timeoutMs is over. The prediction continues.
 * - `not_an_envelope`: another server answered. The url is wrong, or a gateway sent its own page.
 * - `unknown`: the service sent a code that this client does not know.
 */
export type KeyframeErrorCode = ErrorCode | "network" | "no_token" | "timeout" | "not_an_envelope" | "unknown";

export type KeyframeErrorFields = {
  /** HTTP status; null without an answer. */
  status?: number | null;
  details?: ErrorDetail[];
  budget?: ExceededBudget | null;
  balance?: ExhaustedBalance | null;
  requestId?: string | null;
  retryAfterSeconds?: number | null;
  /** A sentence, never the error itself: an error of fetch may contain the request and its token. */
  cause?: string;
};

/** A failed call. An aborted call rejects with the signal's reason instead. */
export class KeyframeError extends Error {
  readonly code: KeyframeErrorCode;
  readonly status: number | null;
  /** For `invalid_request`: each invalid field. */
  readonly details: readonly ErrorDetail[];
  /** For `budget_exceeded`. */
  readonly budget: ExceededBudget | null;
  /** For `balance_exhausted`. */
  readonly balance: ExhaustedBalance | null;
  /** The service logs the same id. Include it in a report. */
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(code: KeyframeErrorCode, message: string, fields: KeyframeErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = "KeyframeError";
    this.code = code;
    this.status = fields.status ?? null;
    this.details = fields.details ?? [];
    this.budget = fields.budget ?? null;
    this.balance = fields.balance ?? null;
    this.requestId = fields.requestId ?? null;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
  }
}
