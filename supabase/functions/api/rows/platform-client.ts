/** Shorter than the timeouts of callers. A call may take up to a tenth longer (createDeadlines). */
const TIMEOUT_MS = 10_000;

/**
 * Sends a request to a path of the platform as the holder of `token`: a session, the project's secret key, or null for nobody.
 * Rejects without an answer.
 */
export type PlatformClient = (path: string, token: string | null, init: RequestInit) => Promise<Response>;

/** A call without a token is anonymous, which only the function health admits. */
export function createPlatformClient(
  url: string,
  publishableKey: string,
  fetcher: typeof fetch,
  timeoutMs = TIMEOUT_MS,
): PlatformClient {
  const deadline = createDeadlines(timeoutMs, () => performance.now());
  return (path, token, init) => {
    // A key is not a JWT: the platform accepts it in Authorization only when apikey is the same.
    const apikey = token?.startsWith("sb_secret_") ? token : publishableKey;
    const headers = { ...init.headers, apikey, authorization: `Bearer ${token ?? publishableKey}` };
    return fetcher(url + path, { ...init, headers, signal: deadline() }); // the signal also bounds the reading of the body
  };
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
