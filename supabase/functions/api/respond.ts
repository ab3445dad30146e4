import { type Envelope, failed, succeeded } from "../../../shared/envelope.ts";
import type { ApiError } from "../../../shared/errors.ts";

/** What a handler returns: the data of the envelope, and the headers that belong to it. */
export type Answer = { status: 200 | 201 | 202; data: unknown; headers?: Record<string, string> };

/** Any web page may call: sessions travel in a header, never in a cookie. */
const ALWAYS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "x-request-id, retry-after, location, ratelimit, ratelimit-policy, idempotency-replayed",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "authorization, apikey, content-type, idempotency-key, x-request-id, x-client-info, prefer, if-none-match",
  "Access-Control-Max-Age": "86400",
};

export const respond = (requestId: string, { status, data, headers }: Answer): Response =>
  envelope(requestId, status, succeeded(data), headers);

export const respondWithError = (requestId: string, { code, message, status, extra }: ApiError): Response =>
  envelope(
    requestId,
    status,
    failed({ code, message, ...(extra.details ? { details: extra.details } : {}), requestId }),
    extra.headers,
  );

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
