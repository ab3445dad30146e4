import { PostgrestClient } from "@supabase/postgrest-js";
import { pause } from "./pause.ts";

const TIMEOUT_MS = 10_000;

/** PostgREST knows no such function with these arguments, or no such schema. */
const MISSING = /^PGRST(202|106)$/;

/**
 * A call that the database refused or did not answer. `code` is the SQLSTATE or PostgREST's code, empty when there was no answer.
 * The database's message is left out, because it can contain row data.
 */
export class DatabaseError extends Error {
  constructor(
    readonly called: string,
    readonly status: number,
    readonly code: string,
  ) {
    super(
      MISSING.test(code)
        ? `schema_outdated: ${called} is missing from the database. Apply the migrations of this version (supabase db push, or npm run deploy), and expose the schema keyframe_worker.`
        : `${called} failed with status ${status}${code && `, code ${code}`}`,
    );
    this.name = "DatabaseError";
  }
}

/** Calls one SQL function of the schema keyframe_worker. The caller parses the answer. Throws DatabaseError. */
export type CallDatabase = (called: string, args: Record<string, unknown>) => Promise<unknown>;

/**
 * Calls the Data API with the secret key, which bypasses row-level security: for workers only, never for a user's request.
 * Uses postgrest-js alone, because importing all of supabase-js took two fifths of a function's start (docs/decisions/0016).
 */
export function createCallDatabase(
  url: string,
  secretKey: string,
  fetcher: typeof fetch,
  timeoutMs = TIMEOUT_MS,
): CallDatabase {
  const headers = { apikey: secretKey, authorization: `Bearer ${secretKey}` };
  // A claim that is sent twice would lease tasks to nobody.
  const once: typeof fetch = (input, init) => fetcher(input, { ...init, ...unrepeatableBody(init?.body) });
  const client = new PostgrestClient(`${url}/rest/v1`, { headers, fetch: once, schema: "keyframe_worker" });
  return async (called, args) => {
    const { data, error, status } = await client.rpc(called, args).abortSignal(AbortSignal.timeout(timeoutMs));
    if (error) throw new DatabaseError(called, status, error.code ?? "");
    return data as unknown; // the client's types say any
  };
}

/** The call changed nothing, because another transaction holds what it needs (lock_timeout), or was in its way. */
const CONFLICT = /^(55P03|40001|40P01)$/;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 4_000;

/**
 * Repeats calls that conflict with other transactions until the signal of their task aborts. A transaction may stay open, and a
 * result that is not recorded can cost a second provider run. Each try holds a connection for 100 ms. Only `most` calls at a
 * time are repeated for longer than four seconds, so that tasks that wait for one owner's rows leave room for other owners' tasks.
 */
export function repeatConflicts(
  call: CallDatabase,
  most: number,
  wait: typeof pause = pause,
): (signal: AbortSignal) => CallDatabase {
  let long = 0;
  return (signal) => async (called, args) => {
    for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(2 * ms, MAX_PAUSE_MS)) {
      try {
        return await call(called, args);
      } catch (error) {
        const isConflict = error instanceof DatabaseError && CONFLICT.test(error.code);
        if (!isConflict || signal.aborted || (ms === MAX_PAUSE_MS && long >= most)) throw error;
      }
      if (ms === MAX_PAUSE_MS) long += 1;
      await wait(ms, signal);
      if (ms === MAX_PAUSE_MS) long -= 1;
    }
  };
}

/**
 * Returns the body as a Blob, which fetch cannot send twice. Deno's fetch repeats any request, also a POST, when its kept-alive
 * connection closes without an answer and it still has the bytes: a create could be carried out twice. Spread it into `init`.
 */
export function unrepeatableBody(body: RequestInit["body"]): { body?: Blob } {
  return typeof body === "string" ? { body: new Blob([body]) } : {};
}
