import { z } from "zod";
import type { CallDatabase } from "../../../../shared/platform/call-database.ts";

/** The arguments of exchange_deliveries. */
export type ExchangeArguments = {
  results: AttemptResult[];
  /** Leased work that is not sent. */
  returned: number[];
  worker_id: string;
  max_rows: number;
  /** Limits the total size of the bodies. At least one delivery is leased. */
  max_bytes: number;
  /** 0: the last claim. Null: only results are recorded, without a heartbeat. */
  heartbeat_ms: number | null;
  wait_ms: number;
  /** For GET /api/health?deep=1. */
  report: { callMs: number; isProcess: boolean; address: string | undefined };
  /** The cursors of the last call, so that lanes take turns. */
  cursors: unknown;
};

const leasedEndpoint = z.object({
  endpoint_id: z.string(),
  url: z.string(),
  /** How many requests the endpoint may have open. */
  max_open: z.int(),
  /** The signing secrets, newest first. */
  secrets: z.array(z.string()),
  /** Deliveries in the order in which they are sent. The event's id is the webhook-id, and its body is sent byte for byte. */
  deliveries: z.array(
    z.object({ id: z.string(), work_id: z.int(), attempt: z.int(), event_id: z.string(), body: z.string() }),
  ),
});
/** An endpoint with deliveries that this worker has leased. */
export type LeasedEndpoint = z.infer<typeof leasedEndpoint>;

/** A delivery with everything its next attempt needs. */
export type Delivery = LeasedEndpoint["deliveries"][number] & Pick<LeasedEndpoint, "endpoint_id" | "url" | "secrets">;

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
  work_id: number;
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
  endpoints: z.array(leasedEndpoint),
  /** Deliveries whose results could not be recorded now, because their rows are locked. */
  unrecorded: z.array(z.string()),
  cursors: z.unknown(),
  /** Whether more is probably due. */
  more: z.boolean(),
});
export type Exchanged = z.infer<typeof exchanged>;

/**
 * Records results and leases due deliveries in one call. Without results and due deliveries it waits up to wait_ms for one. Throws
 * DatabaseError.
 */
export type Exchange = (args: ExchangeArguments) => Promise<Exchanged>;

export function createExchange(call: CallDatabase): Exchange {
  return async (args) => exchanged.parse(await call("exchange_deliveries", args));
}
