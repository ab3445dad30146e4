import { unrepeatable } from "../http/unrepeatable.ts";
import { databaseRefusal, readAnswer, rpcHeaders, rpcPath } from "./data-api.ts";

const TIMEOUT_MS = 10_000;

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
    super(`${called} failed with status ${status}${code && `, code ${code}`}`);
    this.name = "DatabaseError";
  }
}

/** Calls one SQL function of the schema keyframe_worker. The caller parses the answer. Throws DatabaseError. */
export type CallDatabase = (called: string, args: Record<string, unknown>) => Promise<unknown>;

/** Calls the Data API with the secret key, which bypasses row-level security: for workers only, never for a user's request. */
export function createCallDatabase(
  url: string,
  secretKey: string,
  fetcher: typeof fetch,
  timeoutMs = TIMEOUT_MS,
): CallDatabase {
  const headers = { apikey: secretKey, authorization: `Bearer ${secretKey}`, ...rpcHeaders("keyframe_worker") };
  return async (called, args) => {
    // Not repeatable: a claim that is sent twice would lease tasks to nobody.
    const body = unrepeatable(JSON.stringify(args));
    const signal = AbortSignal.timeout(timeoutMs);
    const sent = fetcher(url + rpcPath(called), { method: "POST", headers, body, signal });
    const { status, isOk, body: answer } = await readAnswer(sent);
    if (!isOk) throw new DatabaseError(called, status, databaseRefusal.parse(answer).code);
    return answer;
  };
}
