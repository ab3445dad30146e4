import { ApiError } from "../../../../shared/http/errors.ts";
import { retryAfterJitter } from "../../../../shared/http/retry-after.ts";

/** What the log has of a failed call: codes only, never row data, prompts or URLs. */
export type UpstreamFailure = { from: "database" | "storage"; operation: string; status: number; code: string };

export const internal = (cause: unknown): ApiError =>
  new ApiError("internal", "Something went wrong on our side. Try again; if it stays, report the requestId.", {
    cause,
  });

export const unavailable = (cause: unknown): ApiError =>
  new ApiError(
    "unavailable",
    "The service cannot be reached at the moment. Wait the seconds named in Retry-After, then try again.",
    { cause, headers: retryAfterJitter() },
  );

/** The functions are newer than the database, or PostgREST has not seen a migration or a restored dump yet. */
export const schemaOutdated = (cause: unknown): ApiError =>
  new ApiError(
    "schema_outdated",
    "The database lacks migrations that this version of the functions needs. Apply them (supabase db push, or npm run deploy), and expose the schemas keyframe and keyframe_worker. If both are done, as after a restored dump, run in SQL: notify pgrst, 'reload schema'.",
    { cause, headers: retryAfterJitter() },
  );

/** `sentence` says what is wrong with the session; it contains no part of the token. */
export const unauthorized = (sentence: string, cause?: UpstreamFailure): ApiError =>
  new ApiError("unauthorized", `${sentence} Sign in and send the session token as Authorization: Bearer <token>.`, {
    cause,
    headers: { "WWW-Authenticate": "Bearer" },
  });
