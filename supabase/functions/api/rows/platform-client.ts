import { PostgrestClient } from "@supabase/postgrest-js";
import { StorageClient } from "@supabase/storage-js";
import { unrepeatableBody } from "../../../../shared/platform/call-database.ts";
import { type Credential, isServer } from "../auth/verify-session.ts";

/** Shorter than the timeouts of callers. A call may take up to a tenth longer (createDeadlines). */
const TIMEOUT_MS = 10_000;

/** `reads` is for calls that only read: it repeats them when the connection breaks. */
export type PlatformClient = { database: DatabaseClient; reads: DatabaseClient; storage: StorageClient };
type DatabaseClient = ReturnType<typeof createDatabaseClient>;

/**
 * One client for all requests, without a session: each call adds its caller's token. A call without a token is anonymous, which only
 * the function health admits. Uses two packages of supabase-js, because loading Auth and Realtime took two fifths of the function's
 * start (docs/decisions/0016).
 */
export function createPlatformClient(
  url: string,
  publishableKey: string,
  fetcher: typeof fetch,
  timeoutMs = TIMEOUT_MS,
): PlatformClient {
  const deadline = createDeadlines(timeoutMs, () => performance.now());
  // The signal also bounds the reading of the body.
  const bounded: typeof fetch = (input, init) => fetcher(input, { ...init, signal: deadline() });
  const once: typeof fetch = (input, init) => bounded(input, { ...init, ...unrepeatableBody(init?.body) });
  const headers = { apikey: publishableKey, authorization: `Bearer ${publishableKey}` };
  return {
    database: createDatabaseClient(url, headers, once),
    reads: createDatabaseClient(url, headers, bounded),
    storage: new StorageClient(`${url}/storage/v1`, headers, bounded), // a repeated upload finds the file of the first
  };
}

function createDatabaseClient(url: string, headers: Record<string, string>, fetch: typeof globalThis.fetch) {
  return new PostgrestClient(`${url}/rest/v1`, { headers, fetch, schema: "keyframe" });
}

/** Says who calls the platform. Without a token it is asked anonymously. */
export function setCredential<Request extends { setHeader(name: string, value: string): unknown }>(
  request: Request,
  token: Credential,
): Request {
  const key = isServer(token) ? token.secretKey : token;
  if (key !== null) request.setHeader("authorization", `Bearer ${key}`);
  // A key is not a JWT: the platform accepts it in Authorization only when apikey is the same.
  if (key?.startsWith("sb_secret_")) request.setHeader("apikey", key);
  return request;
}

/** By how much a deadline may exceed the timeout. */
const SHARE = 1 / 10;

/**
 * Signals that abort after `timeoutMs`, or up to a tenth later. Calls that begin within a tenth share a signal: one per call would cost
 * a timer and an error with its stack long after the call has ended.
 *
 * @param elapsed milliseconds of a monotonic clock
 */
export function createDeadlines(timeoutMs: number, elapsed: () => number): () => AbortSignal {
  let signal: AbortSignal | undefined;
  let sharedUntil = 0;
  return () => {
    const now = elapsed();
    if (signal === undefined || now > sharedUntil) {
      signal = AbortSignal.timeout(timeoutMs * (1 + SHARE));
      sharedUntil = now + timeoutMs * SHARE;
    }
    return signal;
  };
}
