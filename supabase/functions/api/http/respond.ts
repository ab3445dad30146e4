import { type ApiError, type Envelope, failed, succeeded } from "../../../../shared/http/errors.ts";
import type { AnswerBase } from "../rows/database.ts";

/** `data` undefined: 304, the caller's copy is current. */
export type Answer<Data = unknown> = { data: Data | undefined; headers?: Record<string, string> };

/** RateLimit fields (draft-ietf-httpapi-ratelimit-headers) and Idempotency-Replayed. */
export function answerHeaders({ rate, replayed }: AnswerBase): Record<string, string> {
  return {
    ...(replayed ? { "Idempotency-Replayed": "true" } : {}),
    ...(rate
      ? {
          "RateLimit-Policy": `"${rate.policy}";q=${rate.limit};w=${rate.window_seconds}`,
          RateLimit: `"${rate.policy}";r=${Math.max(0, rate.remaining)};t=${Math.max(0, rate.reset_seconds)}`,
        }
      : {}),
  };
}

/** Any web page may call, because sessions are sent in a header, never in a cookie. */
const ALWAYS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "x-request-id, retry-after, location, etag, preference-applied, ratelimit, ratelimit-policy, idempotency-replayed",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/** All that supabase-js sends (its corsHeaders, and x-region), and those of the contract. */
const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "authorization, apikey, content-type, x-client-info, x-region, x-retry-count, traceparent, tracestate, baggage, idempotency-key, x-request-id, prefer, if-match, if-none-match",
  "Access-Control-Max-Age": "86400",
};

export const respond = (requestId: string, status: number, { data, headers }: Answer): Response =>
  data === undefined
    ? new Response(null, { status: 304, headers: { ...ALWAYS, ...headers, "X-Request-Id": requestId } })
    : envelope(requestId, status, succeeded(data), headers);

export const respondWithError = (requestId: string, { code, message, status, extra }: ApiError): Response =>
  envelope(
    requestId,
    status,
    failed({
      code,
      message,
      ...(extra.details ? { details: extra.details } : {}),
      ...(extra.budget ? { budget: extra.budget } : {}),
      requestId,
    }),
    extra.headers,
  );

/** A document for tools, without the envelope. */
export const respondWithDocument = (requestId: string, text: string, contentType: string): Response =>
  new Response(text, { headers: { ...ALWAYS, "Content-Type": contentType, "X-Request-Id": requestId } });

export const respondToPreflight = (requestId: string): Response =>
  new Response(null, { status: 204, headers: { ...ALWAYS, ...PREFLIGHT, "X-Request-Id": requestId } });

function envelope(
  requestId: string,
  status: number,
  body: Envelope<unknown>,
  headers?: Record<string, string>,
): Response {
  return Response.json(body, { status, headers: { ...ALWAYS, ...headers, "X-Request-Id": requestId } });
}
