import { ApiError, isErrorCode } from "../../../shared/errors.ts";
import { internal, type UpstreamFailure, unauthorized, unavailable } from "./failures.ts";

/** An error as PostgREST tells it; status 0 when there was no answer. Only `code` may be logged: the rest can hold row data. */
type Failure = { status: number; code?: string; message?: string; details?: string | null; hint?: string | null };

/** Which token bucket a SQL function draws from. */
const RATE_CLASS: Record<string, string> = {
  create_project: "create",
  create_webhook_endpoint: "create",
  test_webhook_endpoint: "create",
  start_prediction: "generate",
  admit_upload: "upload",
};

/** The database or its gateway cannot answer now: connection, resources, shutdown, statement timeout, deadlock, PostgREST without a database. */
const AWAY = /^(08...|53...|57P0.|57014|40001|40P01|PGRST00[0-3])$/;

/** Our error for a failed call of the SQL function `name`. Never repeats the database's own words, but for codes we raise ourselves. */
export function databaseError(name: string, failure: Failure): ApiError {
  const { status, code = "", message = "" } = failure;
  const cause: UpstreamFailure = { from: "database", operation: name, status, code };
  if (code === "KEYFR" && isErrorCode(message)) {
    const headers = message === "rate_limited" ? rateLimited(name, failure.hint) : {};
    return new ApiError(message, failure.details || "The request was refused.", { cause, headers });
  }
  if (AWAY.test(code)) return unavailable(cause);
  const rule = /constraint "(\w+)"/.exec(message)?.[1] ?? "";
  if (code === "23514")
    return new ApiError("invalid_request", `The request breaks a rule: ${rule.replaceAll("_", " ")}.`, { cause });
  if (/^22...$/.test(code)) {
    return new ApiError(
      "invalid_request",
      "The database cannot store a value of this request. Correct it and send it again.",
      { cause },
    );
  }
  if (code === "23503" && rule.endsWith("owner_id_fkey"))
    return unauthorized("The user of this session no longer exists.", cause);
  if (code === "23503")
    return new ApiError("not_found", "Something this request refers to has been deleted meanwhile.", { cause });
  if (/^[0-9A-Z]{5}$/.test(code)) return internal(cause);
  if (status === 401) return unauthorized("The session token was refused.", cause);
  return status === 0 || status === 429 || status >= 500 ? unavailable(cause) : internal(cause);
}

/** `t` is the wait until the next request is admitted; `r` that there is none left. */
function rateLimited(name: string, hint: string | null | undefined): Record<string, string> {
  const seconds = Math.max(1, Number.parseInt(hint ?? "", 10) || 1);
  return { "Retry-After": String(seconds), RateLimit: `"${RATE_CLASS[name] ?? "default"}";r=0;t=${seconds}` };
}
