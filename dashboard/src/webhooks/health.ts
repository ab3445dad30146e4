import { useQuery } from "@tanstack/react-query";
import { checkObject } from "../queries/check-answer.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useServices } from "../services.ts";

const REFRESH_MS = 15_000;

/** The last 24 hours of one endpoint. Null: of all endpoints. */
export function useHealth(webhookId: string | null) {
  const { callPlatform } = useServices();
  return useQuery({
    queryKey: queryKeys.webhookHealth(webhookId),
    queryFn: async ({ signal }) => {
      const json = webhookId === null ? {} : { endpoint_id: webhookId };
      const answer = await callPlatform("/rest/v1/rpc/webhook_health", { json, signal });
      return checkObject(answer, { since: "text", endpoints: "list" }) as Health; // tests of webhook_health check its endpoints
    },
    refetchInterval: REFRESH_MS,
  });
}

/** Deliveries by outcome. A delivery counts in the hour of its last attempt. */
export type HealthHour = { hour: string; delivered: number; retrying: number; exhausted: number };

export type EndpointHealth = {
  endpoint_id: string;
  /** The latest attempt. Null before the first. */
  last: { at: string; status_code: number | null; error: string | null } | null;
  /** Hours with an attempt, in order. */
  hours: HealthHour[];
};

/** `since`: the beginning of the first of 24 hours. */
export type Health = { since: string; endpoints: EndpointHealth[] };

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

export function sumHours(hours: HealthHour[]): HealthSums {
  const sumOf = (kind: keyof HealthSums) => hours.reduce((sum, hour) => sum + hour[kind], 0);
  return { delivered: sumOf("delivered"), retrying: sumOf("retrying"), exhausted: sumOf("exhausted") };
}

const HOUR = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });

/** The hour's start in the user's time zone. */
export const hourWords = (iso: string): string => HOUR.format(new Date(iso));

/** The outcomes in display order. */
export const OUTCOMES = [
  { kind: "delivered", label: "Delivered" },
  { kind: "retrying", label: "Retrying" },
  { kind: "exhausted", label: "Failed" },
] as const;
