import { z } from "zod";
import { ApiError, isErrorCode } from "../../../../shared/http/errors.ts";
import { internal, unauthorized, unavailable, type UpstreamFailure } from "../failures.ts";
import { policyName } from "../http/answer-headers.ts";
import type { PlatformClient } from "./platform-client.ts";

/** The names of SQL functions that change nothing but what their caller may still ask for (the rate limit). */
const READS = /^(read|list)_/;

/**
 * Calls one SQL function as the holder of `token` (null: anonymous) and parses its answer. The one round trip of a request.
 * A secret key (sb_secret_…) as `token` makes the service role the caller.
 * Arguments that are undefined take the SQL function's default. Throws ApiError; an answer of another shape is a plain Error.
 */
export type Database = <Answer>(
  name: string,
  args: Record<string, unknown>,
  token: string | null,
  answer: z.ZodType<Answer>,
) => Promise<Answer>;

export function createDatabase({ database, reads }: PlatformClient): Database {
  return async (name, args, token, answer) => {
    const call = (READS.test(name) ? reads : database).rpc(name, args);
    if (token !== null) call.setHeader("authorization", `Bearer ${token}`);
    // A key is no JWT: the platform takes it as Authorization only where apikey says the same.
    if (token?.startsWith("sb_secret_")) call.setHeader("apikey", token);
    const { data, error, status } = await call;
    if (error) throw databaseError(name, { status, ...error });
    const parsed = answer.safeParse(data);
    if (parsed.success) return parsed.data;
    const places = parsed.error.issues.map(({ path, code }) => `${path.join(".")} (${code})`);
    throw new Error(`The SQL function ${name} answered in another shape: ${places.join(", ")}`);
  };
}

/** An error as PostgREST tells it; status 0 when there was no answer. Only `code` may be logged: the rest can hold row data. */
type Failure = { status: number; code?: string; message?: string; details?: string | null; hint?: string | null };

/**
 * The database or its gateway cannot answer now: connection, resources, shutdown, statement timeout, deadlock, read-only mode (a
 * hosted disk that is nearly full), PostgREST without a database.
 */
const AWAY = /^(08...|53...|57P0.|57014|40001|40P01|25006|PGRST00[0-3])$/;

/** Our error for a failed call of the SQL function `name`. Never repeats the database's own words, but for codes we raise ourselves. */
function databaseError(name: string, failure: Failure): ApiError {
  const { status, code = "", message = "" } = failure;
  const cause: UpstreamFailure = { from: "database", operation: name, status, code };
  if (code === "KEYFR" && isErrorCode(message)) {
    const headers = message === "rate_limited" ? rateLimited(failure.hint) : {};
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

/** What keyframe_private.take_token says as hint. */
const refusal = z.object({ policy: policyName, limit: z.int(), window_seconds: z.int(), wait_seconds: z.int() });

/** `t` is the wait until the next request is admitted; `r` that there is none left. */
function rateLimited(hint: string | null | undefined): Record<string, string> {
  const { policy, limit, window_seconds, wait_seconds } = refusal.parse(jsonOf(hint ?? ""));
  const seconds = Math.max(1, wait_seconds);
  return {
    "Retry-After": String(seconds),
    "RateLimit-Policy": `"${policy}";q=${limit};w=${window_seconds}`,
    RateLimit: `"${policy}";r=0;t=${seconds}`,
  };
}

/** Undefined for what is no JSON: the parser's own words would quote it in the log. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
