import { KeyframeError, type KeyframeErrorCode } from "../../../client/index.ts";
import type { DataClient } from "../services.ts";

/** What came of the deliveries whose last attempt was in the hour that began then. */
export type HealthHour = { hour: string; delivered: number; retrying: number; exhausted: number };

export type EndpointHealth = {
  endpoint_id: string;
  /** The latest attempt of all; null before the first. */
  last: { at: string; status_code: number | null; error: string | null } | null;
  /** Those with an attempt, in order. */
  hours: HealthHour[];
};

/** `since`: the beginning of the first of 24 hours. */
export type Health = { since: string; endpoints: EndpointHealth[] };

/** How the person's endpoints fared in the last 24 hours: one of them, or all. Rejects as the typed client does. */
export async function readHealth(supabase: DataClient, webhookId: string | null, signal: AbortSignal): Promise<Health> {
  const args = webhookId === null ? {} : { endpoint_id: webhookId };
  const { data, error, status } = await supabase.rpc("webhook_health", args).abortSignal(signal);
  signal.throwIfAborted();
  if (error) throw new KeyframeError(codeOf(status, error.message), error.message, { status });
  return data as Health; // the function is tested to answer so
}

/** PostgREST has no answer (0), or one of its own; the service's refusals carry their code as message. */
function codeOf(status: number, message: string): KeyframeErrorCode {
  if (status === 0) return "network";
  if (status === 401) return "unauthorized";
  if (message === "rate_limited") return "rate_limited";
  return status >= 502 ? "unavailable" : "internal";
}
