/** Every error code of the API with its HTTP status. The response, the row and the log have the same code. */
export const ERROR_STATUS = {
  invalid_json: 400,
  invalid_request: 400,
  unauthorized: 401,
  key_ended: 401,
  budget_exceeded: 402,
  balance_exhausted: 402,
  spending_stopped: 402,
  forbidden: 403,
  client_not_allowed: 403,
  not_found: 404,
  user_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  frame_not_ready: 409,
  generation_in_progress: 409,
  generation_ended: 409,
  model_unavailable: 409,
  user_moved: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  unsupported_input: 422,
  price_unknown: 422,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
  schema_outdated: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === "string" && Object.hasOwn(ERROR_STATUS, code);

/** What is left of the budget or balance that refused a start; shared/contract/costs.ts has the fields. */
type ErrorBudget = { [field: string]: string | number | undefined };

/** One invalid field: `path` is its dotted name, `message` a sentence. */
export type ErrorDetail = { path: string; message: string };

type MoreOfError = {
  details?: ErrorDetail[] | undefined;
  budget?: ErrorBudget | undefined;
  balance?: ErrorBudget | undefined;
};

/**
 * An error that is sent to the caller. `message` is for people and says what to do next;
 * `headers` are added to the response (Retry-After, Allow, …).
 */
export class ApiError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly extra: MoreOfError & { headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: extra.cause });
    this.name = "ApiError";
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** The error of a failed call. `requestId` is also in the log line of the request. */
export type EnvelopeError = MoreOfError & { code: ErrorCode; message: string; requestId: string };

/** The body of every response, from a 201 to a crash. */
export type Envelope<Data> =
  | { success: true; data: Data; error: null }
  | { success: false; data: null; error: EnvelopeError };

export const succeeded = <Data>(data: Data): Envelope<Data> => ({ success: true, data, error: null });

export const failed = (error: EnvelopeError): Envelope<never> => ({ success: false, data: null, error });

/** The caller's X-Request-Id when it is safe in headers and logs (1 to 128 plain characters, no key), or a new one. */
export function readRequestId({ headers }: Request): string {
  const given = headers.get("x-request-id") ?? "";
  return /^(?!kf_|sb_secret_)[A-Za-z0-9._-]{1,128}$/.test(given) ? given : crypto.randomUUID();
}
