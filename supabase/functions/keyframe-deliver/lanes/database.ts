import { z } from "zod";
import type { CallDatabase } from "../../../../shared/platform/call-database.ts";
import type { PlacesReport } from "../../../../shared/worker/places.ts";
import { setAside } from "../../../../shared/worker/set-aside.ts";

/** A lane that the worker leases: its deliveries, and how many more it accepts for each endpoint and for the lane. */
export type LeasedLane = {
  lane_id: string;
  token: string;
  sending: string[];
  room: Record<string, number>;
  most: number;
  /** After its release it is due after this time at the earliest, unless something arrives. */
  pause_ms: number;
};

/** The arguments of exchange_deliveries. */
export type ExchangeArguments = {
  results: AttemptResult[];
  claim: {
    lanes: LeasedLane[];
    /** How many lanes it takes besides these. */
    max_lanes: number;
    /** The limit on the claimed bodies in total. One delivery is claimed in any case. */
    max_bytes: number;
    lease_seconds: number;
  };
  /** Null: the worker does not claim again. */
  heartbeat_ms: number | null;
  wait_ms: number;
  /** After a call that ran out of time: finds the row that takes the time, and sets it aside. */
  one_by_one: boolean;
  /** For GET /api/health?deep=1. */
  report: {
    callMs: number;
    openRequests: number;
    slowRequests: number;
    places: PlacesReport;
    isProcess: boolean;
    address: string | undefined;
  };
};

const claimedEndpoint = z.object({
  lane_id: z.string(),
  token: z.string(),
  endpoint_id: z.string(),
  /** How many requests it may have open. */
  max_open: z.int(),
  url: z.string(),
  /** They sign, newest first. */
  secrets: z.array(z.string()),
  /** In the order in which they are due. The event's id is the webhook-id, its body is sent byte for byte. */
  deliveries: z.array(z.object({ id: z.string(), attempt: z.int(), event_id: z.string(), body: z.string() })),
});
/** An endpoint of a leased lane, with deliveries to send. */
export type ClaimedEndpoint = z.infer<typeof claimedEndpoint>;

/** A delivery with everything its next attempt needs. */
export type Delivery = ClaimedEndpoint["deliveries"][number] & Pick<ClaimedEndpoint, "endpoint_id" | "url" | "secrets">;

/** Why a request failed, as stored with the attempt. Only the first two have a status code. */
export type ErrorClass =
  | "http_status"
  | "redirect"
  | "timeout"
  | "connection"
  | "dns"
  | "tls"
  | "address"
  | "too_large"
  | "not_signed";

export type AttemptResult = {
  id: string;
  attempt: number;
  endpoint_id: string;
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: ErrorClass | null;
  response_excerpt: string | null;
  retry_after_seconds: number | null;
};

const exchanged = z.object({
  /** Results that could not be recorded now, and why: `locked`, or an SQLSTATE. */
  unrecorded: z.array(z.object({ id: z.string(), endpoint_id: z.string(), reason: z.string() })),
  /** Null when it failed. */
  claim: z
    .object({
      endpoints: z.array(claimedEndpoint),
      /** Lanes that the worker has leased. */
      kept: z.array(z.string()),
      /** Lanes that the worker no longer leases: released, or leased by another. */
      lost: z.array(z.string()),
      /** How many requests endpoints of leased lanes may have open. Disabled and deleted ones are missing. */
      max_open: z.record(z.string(), z.int()),
      /** Whether more lanes probably wait. */
      others_wait: z.boolean(),
      set_aside: z.array(setAside),
    })
    .nullable(),
  /** The SQLSTATE. */
  claim_error: z.string().nullable(),
});
export type Exchanged = z.infer<typeof exchanged>;

/**
 * Records results, renews the leased lanes and leases free ones in one call. Without results and due deliveries it waits up to wait_ms for
 * one. Throws DatabaseError.
 */
export type Exchange = (args: ExchangeArguments) => Promise<Exchanged>;

export function createExchange(call: CallDatabase): Exchange {
  return async (args) => exchanged.parse(await call("exchange_deliveries", args));
}
