import { z } from "zod";
import { exceededBudget, exhaustedBalance } from "../../contract/costs.ts";
import { ApiError, isErrorCode } from "../../http/errors.ts";
import { OUTDATED_CODES } from "../../platform/call-database.ts";
import { jsonText } from "../../platform/json-text.ts";
import { internal, schemaOutdated, type UpstreamFailure, unauthorized, unavailable } from "../errors.ts";

/** An error of PostgREST; status 0 when there was no answer. Only `code` may be logged: the rest can contain row data. */
type Failure = { status: number; code?: string; message?: string; details?: string | null; hint?: string | null };

/**
 * The database cannot answer at present: connection, resources, shutdown, statement or lock timeout, deadlock, read-only mode (a
 * hosted disk that is nearly full), PostgREST without a database.
 */
const UNAVAILABLE_CODES = /^(08...|53...|57P0.|57014|55P03|40001|40P01|25006|PGRST00[0-3])$/;

/** A lost pooled connection, as after a crash of a backend, gives 400 with an empty code. A gateway's refusals have no code either. */
const hasNoCode = ({ status, code = "" }: Failure) => code === "" && status >= 400 && status !== 401;

/** PostgREST's clock is behind Auth's. The code is the same as for an expired token, and only the message tells them apart. */
const TOO_EARLY = /^JWT (issued at future|not yet valid)/;

/** The ApiError for a failed call of the SQL function `name`. It repeats the database's message only for errors that we raise ourselves. */
export function databaseError(name: string, failure: Failure): ApiError {
  const { status, code = "", message = "" } = failure;
  const cause: UpstreamFailure = { from: "database", operation: name, status, code };
  if (code === "KEYFR" && isErrorCode(message)) {
    const sentence = failure.details || "The request was refused.";
    const hint = <Output>(schema: z.ZodType<Output>) => jsonText.pipe(schema).parse(failure.hint);
    if (message === "rate_limited") return new RateLimited(sentence, cause, hint(rateRefusal));
    return new ApiError(message, sentence, {
      cause,
      ...(message === "budget_exceeded" && { budget: hint(exceededBudget) }),
      ...(message === "balance_exhausted" && { balance: hint(exhaustedBalance) }),
    });
  }
  if (UNAVAILABLE_CODES.test(code) || hasNoCode(failure)) return unavailable(cause);
  if (OUTDATED_CODES.test(code)) return schemaOutdated(cause);
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
  if (code === "PGRST303" && TOO_EARLY.test(message)) return unavailable(cause);
  if (status === 401) return unauthorized("The session token was refused.", cause);
  return status === 0 || status === 429 || status >= 500 ? unavailable(cause) : internal(cause);
}

/** The hint that keyframe_private.acquire_token and acquire_call_slot raise. */
const rateRefusal = z.object({ policy: z.string(), limit: z.int(), window_seconds: z.int(), wait_seconds: z.int() });

export class RateLimited extends ApiError {
  constructor(
    sentence: string,
    cause: UpstreamFailure,
    readonly refusal: z.infer<typeof rateRefusal>,
  ) {
    const { policy, limit, window_seconds, wait_seconds } = refusal;
    const seconds = Math.max(1, wait_seconds);
    // `r` is 0 and `t` the seconds until the next request is allowed.
    const headers = {
      "Retry-After": String(seconds),
      "RateLimit-Policy": `"${policy}";q=${limit};w=${window_seconds}`,
      RateLimit: `"${policy}";r=0;t=${seconds}`,
    };
    super("rate_limited", sentence, { cause, headers });
  }

  /** The owner has no free call slot. Nothing was done, and no token was used. */
  isForCalls(): boolean {
    return this.refusal.policy === "calls";
  }

  /** How long until the next token is available. */
  msUntilToken(): number {
    const { limit, window_seconds } = this.refusal;
    return (window_seconds / limit) * 1000;
  }
}
