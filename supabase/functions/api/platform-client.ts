import { PostgrestClient } from "@supabase/postgrest-js";
import { StorageClient } from "@supabase/storage-js";
import { unrepeatableBody } from "../../../shared/unrepeatable-body.ts";

/** A call of the platform that takes longer counts as away: shorter than any caller's own patience. */
const TIMEOUT_MS = 10_000;

export type PlatformClient = { database: PostgrestClient; storage: StorageClient };

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
  const bounded: typeof fetch = (input, init) =>
    fetcher(input, {
      ...init,
      ...unrepeatableBody(init?.body),
      signal: AbortSignal.timeout(timeoutMs), // of the reading of the body too
    });
  const headers = { apikey: publishableKey, authorization: `Bearer ${publishableKey}` };
  return {
    database: new PostgrestClient(`${url}/rest/v1`, { headers, fetch: bounded }),
    storage: new StorageClient(`${url}/storage/v1`, headers, bounded),
  };
}
