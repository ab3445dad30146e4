import { PostgrestClient } from "@supabase/postgrest-js";
import { StorageClient } from "@supabase/storage-js";
import { fetchOnce } from "../../platform/fetch-once.ts";

/**
 * Longer than PostgREST waits for a connection (10 s), so that its PGRST003 arrives and is logged. An abandoned call may still run: PostgREST
 * carries out what it has queued, even for a caller that has left.
 */
const TIMEOUT_MS = 12_000;

/** `reads` repeats calls when the connection breaks. */
export type PlatformClient = { database: DatabaseClient; reads: DatabaseClient; storage: StorageClient };
export type DatabaseClient = ReturnType<typeof createDatabaseClient>;

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
    storage: new StorageClient(`${url}/storage/v1`, headers, bounded), // may repeat: a repeated upload finds the first one's file
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
