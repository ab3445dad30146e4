import type { ErrorClass } from "../send/send-error.ts";

/** A leased delivery with all that its next attempt needs. */
export type Delivery = {
  id: string;
  leaseToken: string;
  endpointId: string;
  /** The webhook-id. */
  eventId: string;
  /** Sent byte for byte. */
  body: string;
  url: string;
  /** The live ones, newest first. */
  secrets: string[];
};

/** What came of an attempt, as exchange_deliveries takes it. */
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
