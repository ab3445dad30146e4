import { ApiError } from "../../../shared/http/errors.ts";

/** What the log tells of a call that failed: codes only, never row data, prompts or addresses. */
export type UpstreamFailure = { from: "database" | "storage"; operation: string; status: number; code: string };

export const internal = (cause: unknown): ApiError =>
  new ApiError("internal", "Something went wrong on our side. Try again; if it stays, report the requestId.", {
    cause,
  });

/** The spread of 2 to 5 seconds keeps callers that failed together from coming back together. */
export const unavailable = (cause: unknown): ApiError =>
  new ApiError(
    "unavailable",
    "The service cannot be reached just now. Wait the seconds named in Retry-After, then try again.",
    {
      cause,
      headers: { "Retry-After": String(2 + Math.floor(Math.random() * 4)) },
    },
  );

/** No session, or one that does not count. `sentence` says why; it holds nothing of the token. */
export const unauthorized = (sentence: string, cause?: UpstreamFailure): ApiError =>
  new ApiError("unauthorized", `${sentence} Sign in and send the session token as Authorization: Bearer <token>.`, {
    cause,
    headers: { "WWW-Authenticate": "Bearer" },
  });
