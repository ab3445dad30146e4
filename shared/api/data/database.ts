import { PostgrestClient } from "@supabase/postgrest-js";
import { StorageClient } from "@supabase/storage-js";
import { z } from "zod";
import { exceededBudget, exhaustedBalance } from "../../contract/costs.ts";
import { ApiError, isErrorCode } from "../../http/errors.ts";
import { OUTDATED_CODES } from "../../platform/call-database.ts";
import { jsonText } from "../../platform/json-text.ts";
import { fetchOnce, pause, retry } from "../../platform/retry.ts";
import type { Caller } from "../auth/verify-session.ts";
import { createBoundedCache } from "../bounded-cache.ts";
import { internal, schemaOutdated, type UpstreamFailure, unauthorized, unavailable } from "../errors.ts";
import { createCallTurns } from "./call-turns.ts";

/** The caller's token bucket, from keyframe_private.rate_state; null for a class without a limit. */
const rateState = z
  .object({
    policy: z.string(),
    limit: z.int(),
    remaining: z.int(),
    reset_seconds: z.int(),
    window_seconds: z.int(),
  })
  .nullable();

/** What every SQL function returns with its rows; `replayed` where an Idempotency-Key is accepted. */
export const answerBase = z.object({ rate: rateState, replayed: z.boolean().optional() });
export type AnswerBase = z.infer<typeof answerBase>;

/**
 * Calls one SQL function as the caller (with no token: anonymous) and parses its answer: the one round trip of a request.
 * With the project's secret key it calls as the service role; for a server that acts for a user, and for a key, Postgres calls as that user.
 * Undefined arguments use the SQL function's default. The functions of keyframe_worker need the secret key.
 * Throws ApiError, and a plain Error for an answer of another shape.
 */
type CallFunction = <Answer>(
  name: string,
  args: Record<string, unknown>,
  caller: Caller,
  answer: z.ZodType<Answer>,
  schema?: "keyframe" | "keyframe_worker",
) => Promise<Answer>;

/** `read` calls functions that change only the caller's rate limit: it is repeated when the connection breaks. */
export type Database = { call: CallFunction; read: CallFunction };

/** Delays between attempts when the owner has too many calls in the database. Attempts end after 1.5 seconds. */
const BACKOFF = { minDelayMs: 50, maxDelayMs: 800, maxAttempts: 6 };

/**
 * After a call was refused for its rate, further calls of the same function are refused here until a token is available, for a second at
 * most.
 */
const MAX_REFUSED_MS = 1_000;
const MAX_REFUSED = 10_000;

export function createDatabase(
  { database, reads }: PlatformClient,
  { sleep = pause, elapsed = () => performance.now() } = {},
): Database {
  const acquireTurn = createCallTurns();
  const refusals = createBoundedCache<{ error: RateLimited; until: number }>(
    MAX_REFUSED,
    ({ until }) => until > elapsed(),
  );
  const callWith =
    (client: DatabaseClient): CallFunction =>
    async (name, args, { ownerId, token, clientId, by }, answer, schema = "keyframe") => {
      const call = async () => {
        const key_id = by === "key" ? clientId : undefined;
        const called = by
          ? client.schema("keyframe_worker").rpc("act_as", { user_id: ownerId, function_name: name, args, key_id })
          : client.schema(schema).rpc(name, args);
        const { data, error, status } = await setCredential(called, token);
        if (error) throw databaseError(name, { status, ...error });
        return data as unknown; // the client's types say any
      };
      const { idempotency_key, waiting } = args;
      // With an Idempotency-Key it can be a repetition, which uses a token of another class. Without an owner the bucket belongs to a link.
      const isRemembered = ownerId !== null && idempotency_key === undefined;
      const key = `${ownerId} ${name} ${waiting === true}`;
      const data = await acquireTurn(ownerId, async () => {
        const refused = isRemembered ? refusals.get(key) : undefined;
        if (refused) throw refused.error;
        try {
          return await retry(call, { ...BACKOFF, isRetriable: isForCalls, sleep });
        } catch (error) {
          if (error instanceof RateLimited && !error.isForCalls())
            refusals.set(key, { error, until: elapsed() + error.msUntilToken() });
          throw error;
        }
      });
      const parsed = answer.safeParse(data);
      if (parsed.success) return parsed.data;
      const issues = parsed.error.issues.map(({ path, code }) => `${path.join(".")} (${code})`);
      throw new Error(`The SQL function ${name} answered in another shape: ${issues.join(", ")}`);
    };
  return { call: callWith(database), read: callWith(reads) };
}

const isForCalls = (error: unknown) => error instanceof RateLimited && error.isForCalls();

/** An error of PostgREST; status 0 when there was no answer. Only `code` may be logged: the rest can contain row data. */
type Failure = { status: number; code?: string; message?: string; details?: string | null; hint?: string | null };

/**
 * The database cannot answer at present: connection, resources, shutdown, statement or lock timeout, deadlock, read-only mode (a
 * hosted disk that is nearly full), PostgREST without a database.
 */
const UNAVAILABLE_CODES = /^(08...|53...|57P0.|57014|55P03|40001|40P01|25006|PGRST00[0-3])$/;

/** A pooled connection that was lost, as after a crash of a backend: 400 with an empty code. A gateway's refusals have none, either. */
const hasNoCode = ({ status, code = "" }: Failure) => code === "" && status >= 400 && status !== 401;

/** PostgREST's clock is behind that of Auth: its code is that of an expired token, and only the message tells them apart. */
const TOO_EARLY = /^JWT (issued at future|not yet valid)/;

/** The ApiError for a failed call of the SQL function `name`. It repeats the database's message only for errors that we raise ourselves. */
function databaseError(name: string, failure: Failure): ApiError {
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

/** The hint of keyframe_private.acquire_token and acquire_call_slot. */
const rateRefusal = z.object({ policy: z.string(), limit: z.int(), window_seconds: z.int(), wait_seconds: z.int() });

class RateLimited extends ApiError {
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

  /** How long until a token is available, at most MAX_REFUSED_MS. */
  msUntilToken(): number {
    const { limit, window_seconds } = this.refusal;
    return Math.min(MAX_REFUSED_MS, (window_seconds / limit) * 1000);
  }
}

/**
 * Longer than PostgREST waits for a connection (10 s), so that its PGRST003 arrives and is logged. An abandoned call may still run:
 * PostgREST carries out what it has queued, also for a caller that has left.
 */
const TIMEOUT_MS = 12_000;

/** `reads` repeats calls when the connection breaks. */
export type PlatformClient = { database: DatabaseClient; reads: DatabaseClient; storage: StorageClient };
type DatabaseClient = ReturnType<typeof createDatabaseClient>;

/**
 * One client for all requests, without a session: each call adds its caller's token. A call without a token is anonymous, which only
 * the function health allows. Uses two packages of supabase-js, because loading Auth and Realtime took two fifths of the function's
 * start (docs/decisions/0015).
 */
export function createPlatformClient(
  url: string,
  publishableKey: string,
  fetcher: typeof fetch,
  timeoutMs = TIMEOUT_MS,
): PlatformClient {
  // The signal also bounds the reading of the body.
  const bounded: typeof fetch = (input, init) => fetcher(input, { ...init, signal: AbortSignal.timeout(timeoutMs) });
  const headers = { apikey: publishableKey, authorization: `Bearer ${publishableKey}` };
  return {
    database: createDatabaseClient(url, headers, fetchOnce(bounded)),
    reads: createDatabaseClient(url, headers, bounded),
    storage: new StorageClient(`${url}/storage/v1`, headers, bounded), // a repeated upload finds the file of the first
  };
}

function createDatabaseClient(url: string, headers: Record<string, string>, fetch: typeof globalThis.fetch) {
  return new PostgrestClient(`${url}/rest/v1`, { headers, fetch, schema: "keyframe" });
}

/** A key is not a JWT: the platform accepts it in Authorization only when apikey is the same. Without a token the call is anonymous. */
export const credentialOf = (token: string | null): Record<string, string> => ({
  ...(token !== null && { authorization: `Bearer ${token}` }),
  ...(token?.startsWith("sb_secret_") && { apikey: token }),
});

export function setCredential<Request extends { setHeader(name: string, value: string): unknown }>(
  request: Request,
  token: string | null,
): Request {
  for (const [name, value] of Object.entries(credentialOf(token))) request.setHeader(name, value);
  return request;
}

const camelCase = (column: string) => column.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A column's value; a time of Postgres as ISO 8601 in UTC with milliseconds. */
const fieldValue = (column: string, value: unknown) =>
  /_(at|since)$/.test(column) && typeof value === "string" ? new Date(value).toISOString() : value;

/**
 * Parses a row as fields of the contract: `text_prompt` is textPrompt. The columns also keep their own names, because a cursor needs
 * created_at with its microseconds.
 */
export const fromRow = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((row) => {
    if (row === null || typeof row !== "object") return row;
    const fields = Object.entries(row).map(([column, value]) => [camelCase(column), fieldValue(column, value)]);
    return { ...row, ...Object.fromEntries(fields) };
  }, schema);

const snakeCase = (field: string) => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Fields of the contract as arguments of a SQL function, or as columns: `textPrompt` is text_prompt. */
export const toRow = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [snakeCase(name), value]));

/** The fields by which a cursor identifies a row. `created_at` keeps the format of Postgres. */
export const position = { id: z.string(), created_at: z.iso.datetime({ offset: true }) };
