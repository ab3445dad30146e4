import { PostgrestClient } from "@supabase/postgrest-js";
import { unrepeatableBody } from "../http/unrepeatable-body.ts";

/** Calls the SQL functions of the schema keyframe_worker. */
export type WorkerClient = ReturnType<typeof createSecretClient>;

/**
 * A client of the Data API with the secret key, which passes row-level security: for the functions only, never for a caller's
 * request. The part of supabase-js that calls SQL functions, without Auth, Storage and Realtime: reading those was two fifths
 * of a function's start (docs/decisions/0016).
 */
export function createSecretClient(url: string, secretKey: string, fetcher: typeof fetch) {
  const headers = { apikey: secretKey, authorization: `Bearer ${secretKey}` };
  // A claim that is sent twice would lease tasks to nobody.
  const once: typeof fetch = (input, init) => fetcher(input, { ...init, ...unrepeatableBody(init?.body) });
  return new PostgrestClient(`${url}/rest/v1`, { headers, fetch: once, schema: "keyframe_worker" });
}
