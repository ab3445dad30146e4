import { PostgrestClient } from "@supabase/postgrest-js";
import { StorageClient } from "@supabase/storage-js";
import { unrepeatableBody } from "../../../../shared/http/unrepeatable-body.ts";

/** A call of the platform that takes longer, by up to a tenth, counts as away: shorter than any caller's own patience. */
const TIMEOUT_MS = 10_000;

/** `reads` calls what only reads: twice, if the connection breaks. */
export type PlatformClient = { database: DatabaseClient; reads: DatabaseClient; storage: StorageClient };
type DatabaseClient = ReturnType<typeof createDatabaseClient>;

/**
 * One client for all requests, which holds nobody's session: whoever calls adds the caller's token to that one call. A call
 * that forgets the token is anonymous, which no table or function of ours admits (except health).
 * The two parts of supabase-js that are needed, because reading Auth and Realtime was two fifths of the function's start
 * (docs/decisions/0016).
 */
export function createPlatformClient(
  url: string,
  publishableKey: string,
  fetcher: typeof fetch,
  timeoutMs = TIMEOUT_MS,
): PlatformClient {
  const deadline = createDeadlines(timeoutMs, () => performance.now());
  // Of the reading of the body too.
  const bounded: typeof fetch = (input, init) => fetcher(input, { ...init, signal: deadline() });
  const once: typeof fetch = (input, init) => bounded(input, { ...init, ...unrepeatableBody(init?.body) });
  const headers = { apikey: publishableKey, authorization: `Bearer ${publishableKey}` };
  return {
    database: createDatabaseClient(url, headers, once),
    reads: createDatabaseClient(url, headers, bounded),
    storage: new StorageClient(`${url}/storage/v1`, headers, bounded), // signs, and uploads under names of ours: sent again, the first is there
  };
}

function createDatabaseClient(url: string, headers: Record<string, string>, fetch: typeof globalThis.fetch) {
  return new PostgrestClient(`${url}/rest/v1`, { headers, fetch, schema: "keyframe" });
}

/** Of the patience, by how much a call may get more. */
const SHARE = 1 / 10;

/**
 * Signals that abort between `patienceMs` and a tenth more from now. Calls that begin in the same tenth share one: a signal of its own
 * for each costs a timer that fires, and an error with its stack, long after its call is over.
 *
 * @param elapsed milliseconds by a clock that is never set
 */
export function createDeadlines(patienceMs: number, elapsed: () => number): () => AbortSignal {
  let signal: AbortSignal | undefined;
  let sharedUntil = 0;
  return () => {
    const now = elapsed();
    if (signal === undefined || now > sharedUntil) {
      signal = AbortSignal.timeout(patienceMs * (1 + SHARE));
      sharedUntil = now + patienceMs * SHARE;
    }
    return signal;
  };
}
