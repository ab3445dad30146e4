import { useQuery } from "@tanstack/react-query";
import { KeyframeError, type KeyframeErrorCode } from "../../../client/index.ts";
import { type DataClient, useServices } from "../services.ts";
import { webhookKeys } from "./webhook-queries.ts";

const WHILE_ACTIVE_MS = 5_000;
const WHILE_RETRYING_MS = 15_000;
const OTHERWISE_MS = 60_000;

/** The last 24 hours of one endpoint, or (null) of all. `isActive`: a delivery is being sent. */
export function useHealth(webhookId: string | null, isActive = false) {
  const { openSupabase } = useServices();
  return useQuery({
    queryKey: webhookKeys.health(webhookId),
    queryFn: async ({ signal }) => readHealth(await openSupabase(), webhookId, signal),
    refetchInterval: ({ state }) => (isActive ? WHILE_ACTIVE_MS : pauseAfter(state.data)),
  });
}

function pauseAfter(health: Health | undefined): number {
  const isRetrying = health?.endpoints.some(({ hours }) => hours.some(({ retrying }) => retrying > 0));
  return isRetrying ? WHILE_RETRYING_MS : OTHERWISE_MS;
}

/** Deliveries by outcome, counted in the hour of their last attempt. */
export type HealthHour = { hour: string; delivered: number; retrying: number; exhausted: number };

export type EndpointHealth = {
  endpoint_id: string;
  /** The latest attempt; null before the first. */
  last: { at: string; status_code: number | null; error: string | null } | null;
  /** Hours with an attempt, in order. */
  hours: HealthHour[];
};

/** `since`: the beginning of the first of 24 hours. */
export type Health = { since: string; endpoints: EndpointHealth[] };

/** Health of one or all of the user's endpoints. Rejects as the typed client does. */
async function readHealth(supabase: DataClient, webhookId: string | null, signal: AbortSignal): Promise<Health> {
  const args = webhookId === null ? {} : { endpoint_id: webhookId };
  const { data, error, status } = await supabase.rpc("webhook_health", args).abortSignal(signal);
  signal.throwIfAborted();
  if (error) throw new KeyframeError(codeOf(status, error.message), error.message, { status });
  return data as Health; // the function is tested to answer so
}

/** Status 0: no answer. The service's own refusals carry their code as message. */
function codeOf(status: number, message: string): KeyframeErrorCode {
  if (status === 0) return "network";
  if (status === 401) return "unauthorized";
  if (message === "rate_limited") return "rate_limited";
  return status >= 502 ? "unavailable" : "internal";
}

const HOUR_MS = 3_600_000;
const HOURS = 24;

/** All 24 hours from `since`, zeros where nothing was sent. */
export function fillHours(since: string, known: HealthHour[]): HealthHour[] {
  const byTime = new Map(known.map((hour) => [Date.parse(hour.hour), hour]));
  return Array.from({ length: HOURS }, (_, at) => {
    const time = Date.parse(since) + at * HOUR_MS;
    return byTime.get(time) ?? { hour: new Date(time).toISOString(), delivered: 0, retrying: 0, exhausted: 0 };
  });
}

export type HealthSums = Pick<HealthHour, "delivered" | "retrying" | "exhausted">;

export const sumHours = (hours: HealthHour[]): HealthSums => ({
  delivered: hours.reduce((sum, { delivered }) => sum + delivered, 0),
  retrying: hours.reduce((sum, { retrying }) => sum + retrying, 0),
  exhausted: hours.reduce((sum, { exhausted }) => sum + exhausted, 0),
});

const HOUR = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });

/** The hour's start in the user's time zone. */
export const hourWords = (iso: string): string => HOUR.format(new Date(iso));

/** In display order. */
export const OUTCOMES = [
  { kind: "delivered", label: "Delivered" },
  { kind: "retrying", label: "Retrying" },
  { kind: "exhausted", label: "Failed" },
] as const;
