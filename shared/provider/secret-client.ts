import { createClient, type SupabaseClient } from "@supabase/supabase-js";

/**
 * A client with the secret key, which passes row-level security: for the functions only, never for a caller's request.
 * It holds no session, starts no refresh timer and opens no realtime connection.
 */
export function createSecretClient(url: string, secretKey: string, fetcher: typeof fetch): SupabaseClient {
  return createClient(url, secretKey, { accessToken: async () => null, global: { fetch: fetcher } });
}
