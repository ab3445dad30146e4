import { z } from "zod";
import type { CallDatabase } from "../../../../shared/platform/call-database.ts";
import type { ErrorClass } from "../send/send-error.ts";

/** A claimed delivery with everything its next attempt needs. */
export type Delivery = {
  id: string;
  attempt: number;
  laneToken: string;
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
  attempt: number;
  lane_token: string;
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: ErrorClass | null;
  response_excerpt: string | null;
  retry_after_seconds: number | null;
};

/** A lane that the worker holds: the deliveries it has, and whether it takes more. */
export type HeldLane = { endpoint_id: string; token: string; sending: string[]; more: boolean };

/** A lane with deliveries, oldest first. `maxOpen`: how many requests it may have open. */
export type ClaimedLane = {
  endpointId: string;
  token: string;
  ownerId: string;
  maxOpen: number;
  deliveries: Delivery[];
};

/** heartbeatMs null: the worker does not claim. */
export type ExchangeLimits = { maxLanes: number; leaseSeconds: number; heartbeatMs: number | null; waitMs: number };

const exchanged = z.object({
  lanes: z.array(
    z.object({
      endpoint_id: z.string(),
      token: z.string(),
      owner_id: z.string(),
      max_open: z.int(),
      url: z.string(),
      secrets: z.array(z.string()),
      deliveries: z.array(z.object({ id: z.string(), attempt: z.int(), event_id: z.string(), body: z.string() })),
    }),
  ),
  ended: z.array(z.string()),
});

/**
 * Records results, renews the held lanes and takes free ones in one call. Without results and due deliveries it waits up to waitMs for
 * one. `ended`: endpoints of held lanes that are not the worker's any more, or that are disabled or deleted. Throws DatabaseError.
 */
export type Exchange = (
  results: AttemptResult[],
  held: HeldLane[],
  limits: ExchangeLimits,
) => Promise<{ lanes: ClaimedLane[]; ended: string[] }>;

export function createExchange(call: CallDatabase): Exchange {
  return async (results, held, { maxLanes, leaseSeconds, heartbeatMs, waitMs }) => {
    const answer = await call("exchange_deliveries", {
      results,
      held,
      max_lanes: maxLanes,
      lease_seconds: leaseSeconds,
      heartbeat_ms: heartbeatMs,
      wait_ms: waitMs,
    });
    const { lanes, ended } = exchanged.parse(answer);
    return {
      ended,
      lanes: lanes.map(({ endpoint_id: endpointId, token, owner_id, max_open, url, secrets, deliveries }) => ({
        endpointId,
        token,
        ownerId: owner_id,
        maxOpen: max_open,
        deliveries: deliveries.map(({ id, attempt, event_id, body }) => ({
          ...{ id, attempt, laneToken: token, endpointId, eventId: event_id, body, url, secrets },
        })),
      })),
    };
  };
}
