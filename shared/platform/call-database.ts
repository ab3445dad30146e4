import { PostgrestClient } from "@supabase/postgrest-js";
import { unrepeatableBody } from "../http/unrepeatable-body.ts";

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
