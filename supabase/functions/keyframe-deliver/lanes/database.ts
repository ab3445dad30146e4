import { z } from "zod";
import type { CallDatabase } from "../../../../shared/platform/call-database.ts";
import type { ErrorClass } from "../send/send-error.ts";

/** A claimed delivery with everything its next attempt needs. */
export type Delivery = {
  id: string;
  attempt: number;
  laneId: string;
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
  endpoint_id: string;
  lane_id: string;
  lane_token: string;
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: ErrorClass | null;
  response_excerpt: string | null;
  retry_after_seconds: number | null;
};

/** A lane that the worker holds: the deliveries it has of each endpoint, whether it takes more, and how many of the lane and of each. */
export type HeldLane = {
  lane_id: string;
  token: string;
  sending: Record<string, string[]>;
  more: boolean;
  most: number;
  room: Record<string, number>;
};

/** An endpoint with deliveries to send, oldest first. `maxOpen`: how many requests it may have open. */
export type ClaimedEndpoint = { endpointId: string; maxOpen: number; deliveries: Delivery[] };
export type ClaimedLane = { laneId: string; token: string; endpoints: ClaimedEndpoint[] };

/** heartbeatMs null: the worker does not claim. */
export type ExchangeLimits = {
  maxLanes: number;
  /** How many deliveries a lane that is taken brings, and how many of each endpoint. */
  newLane: { most: number; room_of_new: number };
  leaseSeconds: number;
  heartbeatMs: number | null;
  waitMs: number;
  /** For GET /api/health?deep=1. */
  report: { callMs: number; openRequests: number; slowRequests: number };
};

const exchanged = z.object({
  lanes: z.array(
    z.object({
      lane_id: z.string(),
      token: z.string(),
      endpoints: z.array(
        z.object({
          endpoint_id: z.string(),
          max_open: z.int(),
          url: z.string(),
          secrets: z.array(z.string()),
          deliveries: z.array(z.object({ id: z.string(), attempt: z.int(), event_id: z.string(), body: z.string() })),
        }),
      ),
    }),
  ),
  unrecorded: z.array(z.object({ id: z.string(), endpoint_id: z.string(), reason: z.string() })),
  lost: z.array(z.string()),
  ended: z.array(z.string()),
  others_wait: z.boolean(),
});

export type Exchanged = {
  lanes: ClaimedLane[];
  /** Results that could not be recorded now, and why: `locked`, or an SQLSTATE. */
  unrecorded: { id: string; endpoint_id: string; reason: string }[];
  /** Lanes that are not the worker's any more: released, or another's. */
  lost: string[];
  /** Endpoints of held lanes that are disabled or deleted. */
  ended: string[];
  /** More lanes wait than were taken. */
  othersWait: boolean;
};

/**
 * Records results, renews the held lanes and takes free ones in one call. Without results and due deliveries it waits up to waitMs for
 * one. Throws DatabaseError.
 */
export type Exchange = (results: AttemptResult[], held: HeldLane[], limits: ExchangeLimits) => Promise<Exchanged>;

export function createExchange(call: CallDatabase): Exchange {
  return async (results, held, { maxLanes, newLane, leaseSeconds, heartbeatMs, waitMs, report }) => {
    const answer = await call("exchange_deliveries", {
      results,
      held,
      max_lanes: maxLanes,
      new_lane: newLane,
      lease_seconds: leaseSeconds,
      heartbeat_ms: heartbeatMs,
      wait_ms: waitMs,
      report,
    });
    const { lanes, others_wait: othersWait, ...rest } = exchanged.parse(answer);
    return {
      ...rest,
      othersWait,
      lanes: lanes.map(({ lane_id: laneId, token, endpoints }) => ({
        laneId,
        token,
        endpoints: endpoints.map(({ endpoint_id: endpointId, max_open: maxOpen, url, secrets, deliveries }) => ({
          endpointId,
          maxOpen,
          deliveries: deliveries.map(({ id, attempt, event_id, body }) => ({
            ...{ id, attempt, laneId, laneToken: token, endpointId, eventId: event_id, body, url, secrets },
          })),
        })),
      })),
    };
  };
}
