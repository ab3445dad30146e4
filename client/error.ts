import type { ErrorCode, ErrorDetail } from "../shared/http/errors.ts";

/**
 * The service's own codes, and what only a client can see:
 * - `network`: no answer, a broken one, or none in time. The request may have been carried out.
 * - `no_token`: getToken failed. Nothing was sent.
 * - `timeout`: waitFor's timeoutMs is over. The prediction runs on.
 * - `not_an_envelope`: the answer is not the service's: a wrong url, or a gateway's own page.
 * - `unknown`: a code that is newer than this client.
 */
export type KeyframeErrorCode = ErrorCode | "network" | "no_token" | "timeout" | "not_an_envelope" | "unknown";

export type KeyframeErrorFields = {
  /** HTTP status; null when no answer came. */
  status?: number | null;
  details?: ErrorDetail[];
  requestId?: string | null;
  retryAfterSeconds?: number | null;
  /** A sentence, never the error itself: a fetch may put the request, and so the token, into what it throws. */
  cause?: string;
};

/** A call that did not succeed. A call that was aborted rejects with the signal's reason instead. */
export class KeyframeError extends Error {
  readonly code: KeyframeErrorCode;
  readonly status: number | null;
  /** Of `invalid_request`: each field that does not fit. */
  readonly details: readonly ErrorDetail[];
  /** Stands in the service's log too: report it. */
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(code: KeyframeErrorCode, message: string, fields: KeyframeErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = "KeyframeError";
    this.code = code;
    this.status = fields.status ?? null;
    this.details = fields.details ?? [];
    this.requestId = fields.requestId ?? null;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
  }
}
