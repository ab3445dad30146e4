import { z } from "zod";
import type { CallDatabase } from "../../../../shared/platform/call-database.ts";
import type { ErrorClass } from "../send/send-error.ts";

/** A leased delivery with everything its next attempt needs. */
export type Delivery = {
  id: string;
  leaseToken: string;
  endpointId: string;
  /** The webhook-id. */
  eventId: string;
  /** Sent byte for byte. */
  body: string;
  url: string;
  /** The secrets that sign, newest first. */
  secrets: string[];
};

/** The result of an attempt, as exchange_deliveries takes it. */
export type AttemptResult = {
  id: string;
  lease_token: string;
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: ErrorClass | null;
  response_excerpt: string | null;
  retry_after_seconds: number | null;
};

const exchanged = z.object({
  deliveries: z.array(
    z.object({
      id: z.string(),
      lease_token: z.string(),
      endpoint_id: z.string(),
      event_id: z.string(),
      body: z.string(),
    }),
  ),
  endpoints: z.record(z.string(), z.object({ url: z.string(), secrets: z.array(z.string()) })),
});

/**
 * Records results and leases up to `maxRows` due deliveries in one call. Without results and due deliveries it waits up to waitMs
 * for one. Throws DatabaseError.
 */
export type Exchange = (
  results: AttemptResult[],
  maxRows: number,
  leaseSeconds: number,
  heartbeatMs: number,
  waitMs: number,
) => Promise<Delivery[]>;

export function createExchange(call: CallDatabase): Exchange {
  return async (results, maxRows, leaseSeconds, heartbeatMs, waitMs) => {
    const answer = await call("exchange_deliveries", {
      results,
      max_rows: maxRows,
      lease_seconds: leaseSeconds,
      heartbeat_ms: heartbeatMs,
      wait_ms: waitMs,
    });
    const { deliveries, endpoints } = exchanged.parse(answer);
    return deliveries.map(({ id, lease_token, endpoint_id, event_id, body }) => {
      const { url, secrets } = endpoints[endpoint_id] ?? { url: "", secrets: [] };
      return { id, leaseToken: lease_token, endpointId: endpoint_id, eventId: event_id, body, url, secrets };
    });
  };
}
