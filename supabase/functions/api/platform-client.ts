import { createClient, type SupabaseClient } from "@supabase/supabase-js";
import { unrepeatableBody } from "../../../shared/unrepeatable-body.ts";

/** A call of the platform that takes longer counts as away: shorter than any caller's own patience. */
const TIMEOUT_MS = 10_000;

/**
 * One client for all requests, which holds nobody's session: whoever calls adds the caller's token to that one call.
 * It opens no realtime connection, and a call that forgets the token is anonymous, which no table or function of ours admits
 * (except health).
 */
export function createPlatformClient(
  url: string,
  publishableKey: string,
  fetcher: typeof fetch,
  timeoutMs = TIMEOUT_MS,
): SupabaseClient {
  // The signal also bounds the reading of the body, which the client's own timeout does not.
  const boundedFetch: typeof fetch = (input, init) =>
    fetcher(input, {
      ...init,
      ...unrepeatableBody(init?.body),
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(init?.signal ? [init.signal] : [])]),
    });
  return createClient(url, publishableKey, {
    // Stands in for the Auth client, so none is made: no stored session, no refresh timer.
    accessToken: async () => null,
    global: { fetch: boundedFetch },
  });
}
