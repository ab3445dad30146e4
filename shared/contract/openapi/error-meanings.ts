import type { ErrorCode } from "../../http/errors.ts";

/** When each error comes, and what to do about it. */
export const ERROR_MEANING: Record<ErrorCode, string> = {
  invalid_json: "The body is not JSON. Correct it.",
  invalid_request: "The body, the query or a header does not fit. `details` names what; correct it.",
  unauthorized: "The session token is missing, malformed, expired or wrongly signed. Sign in and send a fresh one.",
  not_found: "There is nothing at this path, or nothing of yours with this identifier.",
  method_not_allowed: "The path takes other methods: `Allow` names them.",
  request_timeout: "The body did not arrive in time: nothing came for 10 s, or it took too long. Send it again.",
  frame_not_ready: "A frame this step builds on has not succeeded yet. Generate it, or wait for it.",
  generation_in_progress: "A generation of the project is still running. Cancel it or wait for its end.",
  generation_ended: "The prediction has ended already; there is nothing to cancel.",
  payload_too_large: "The body is too large. Send a smaller one.",
  unsupported_media_type: "The body is not of a kind this path takes.",
  idempotency_mismatch: "The Idempotency-Key was used for another request in the last 24 hours. Send a new one.",
  unsupported_input: "The model in use would drop or refuse part of this. Nothing was charged; leave that part out.",
  rate_limited: "Too many requests of this kind. Wait the seconds in `Retry-After`.",
  internal: "Our fault. Try again; if it stays, report the requestId.",
  unavailable: "The database or the platform is away. Wait the seconds in `Retry-After`.",
};
