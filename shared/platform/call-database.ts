import { PostgrestClient } from "@supabase/postgrest-js";
import { fetchOnce } from "./fetch-once.ts";
import { type Backoff, pause, retry } from "./retry.ts";

export const TIMEOUT_MS = 10_000;

/** The codes of PostgREST and Postgres for an unknown function, arguments or schema: functions and database have different versions. */
export const OUTDATED_CODES = /^(PGRST(202|106)|42883|3F000)$/;

/**
 * A call that the database refused or did not answer. `status` is that of the Data API, or null on a connection to Postgres. `code` is the
 * SQLSTATE or PostgREST's code, empty if there was no answer. The database's message is left out, because it can contain row data.
 */
export class DatabaseError extends Error {
  constructor(
    readonly called: string,
    readonly status: number | null,
    readonly code: string,
    cause?: unknown,
  ) {
    super(
      OUTDATED_CODES.test(code)
        ? `schema_outdated: ${called} is missing from the database. If the database is older than this code, apply the migrations of this version (supabase db push, or npm run deploy), and expose the schema keyframe_worker. If the database is newer, run the version of the functions and processes that was deployed with it.`
        : `${called} failed${status === null ? "" : ` with status ${status}`}${code && `, code ${code}`}`,
      cause === undefined ? {} : { cause },
    );
    this.name = "DatabaseError";
  }

  isOutdated(): boolean {
    return OUTDATED_CODES.test(this.code);
  }
}

/** Calls one SQL function of the schema keyframe_worker. The caller parses the answer. Throws DatabaseError. */
export type CallDatabase = (called: string, args: Record<string, unknown>) => Promise<unknown>;

/**
 * Calls the Data API with the secret key, which bypasses row-level security. For workers only, never for a user's request. Uses only
 * postgrest-js, because importing all of supabase-js took two fifths of a function's start (docs/decisions/0015).
 */
export function createCallDatabase(
  url: string,
  secretKey: string,
  fetcher: typeof fetch,
  timeoutMs = TIMEOUT_MS,
): CallDatabase {
  const headers = { apikey: secretKey, authorization: `Bearer ${secretKey}` };
  // A claim that is sent twice would lease tasks that no worker has.
  const options = { headers, fetch: fetchOnce(fetcher), schema: "keyframe_worker" };
  const client = new PostgrestClient(`${url}/rest/v1`, options);
  return async (called, args) => {
    const { data, error, status } = await client.rpc(called, args).abortSignal(AbortSignal.timeout(timeoutMs));
    if (error) throw new DatabaseError(called, status, error.code ?? "", status === 0 ? whyNone(error) : undefined);
    return data as unknown; // the client's types say any
  };
}

/** Why fetch has no answer. The text contains no row data. The client puts fetch's own cause into the details. */
const whyNone = ({ details, message }: { details: string; message: string }): string =>
  /Caused by: (.+)/.exec(details)?.[1] ?? message;

/**
 * Whether the Data API or its gateway was down, restarted, or lost a pooled connection (400 without a code). Without a status, a connection
 * to Postgres was refused or ended.
 */
const wasAway = ({ status, code }: DatabaseError): boolean =>
  status === null ? /^(|08...|57P0.)$/.test(code) : status >= 502 || (code === "" && (status === 0 || status === 400));
/** The pauses are 5.75 s in total: PostgREST restarts in 2 to 5 s. */
const AWAY = { minDelayMs: 250, maxDelayMs: 2_000, maxAttempts: 6 };

/** The call changed nothing, because another transaction has the lock (lock_timeout) or conflicted with it. */
const CONFLICT = /^(55P03|40001|40P01)$/;
const BACKOFF: Backoff = { minDelayMs: 250, maxDelayMs: 4_000 };

/**
 * Retries the calls of a task until its signal aborts: up to six times while the database is down, and for as long as another transaction
 * conflicts with them. A result that is not recorded costs a lease, or a second provider run. Each attempt that conflicts holds a connection
 * for 100 ms. Only `maxLong` calls at a time are retried for longer than four seconds, so that tasks that wait for one owner's rows leave
 * connections to other owners' tasks. After a lost answer, a repeated call finds that its lease has ended.
 */
export function retryTransientErrors(
  call: CallDatabase,
  maxLong: number,
  wait: typeof pause = pause,
): (signal: AbortSignal) => CallDatabase {
  let long = 0;
  const isLong = (delayMs: number) => delayMs === BACKOFF.maxDelayMs;
  const isConflict = (error: unknown) => error instanceof DatabaseError && CONFLICT.test(error.code);
  const sleep: typeof pause = async (delayMs, signal) => {
    if (isLong(delayMs)) long += 1;
    await wait(delayMs, signal);
    if (isLong(delayMs)) long -= 1;
  };
  const isAway = (error: unknown) => error instanceof DatabaseError && wasAway(error);
  return (signal) => (called, args) =>
    retry(() => retry(() => call(called, args), { ...AWAY, isRetriable: isAway, signal, sleep: wait }), {
      ...BACKOFF,
      isRetriable: (error, delayMs) => isConflict(error) && (!isLong(delayMs) || long < maxLong),
      signal,
      sleep,
    });
}
