import { z } from "zod";
import type { ErrorCode } from "../../http/errors.ts";
import { id, visibleAscii } from "../fields.ts";
import { type Operation, takesKey } from "../operations/operation.ts";

const text = z.string();
const optional = text.optional();

/** A header with an id becomes one shared component. */
const header = <Schema extends z.ZodType>(schema: Schema, id: string, description: string, example?: string) =>
  schema.meta({ description, ...(example !== undefined && { example }), header: { id } });

export const requestId = header(
  text,
  "RequestId",
  "The one you sent, or a new one.",
  "0f6c2f0e-4a0a-4f0c-8f43-0c2a9c9a7b91",
);
const retryAfter = header(optional, "RetryAfter", "Seconds to wait before the next read.", "2");
const mustWait = header(text, "MustWait", "Seconds to wait before the next attempt.", "2");
const rateLimit = header(
  optional,
  "RateLimit",
  "The remaining requests (r), and the seconds (t) until the limit is full again or, after a 429, until the next request is allowed.",
  '"generate";r=59;t=1',
);
const rateLimitPolicy = header(
  optional,
  "RateLimitPolicy",
  "The limit: q requests in w seconds.",
  '"generate";q=60;w=60',
);
const replayed = header(
  optional,
  "IdempotencyReplayed",
  "true when this is the stored answer to an earlier request with the same key.",
  "true",
);
const etag = header(
  text,
  "ETag",
  "For If-None-Match.",
  'W/"processing-2b9a1c6e-7f43-4d0e-b1b8-1d5c2e7a4f41.1..0.35-0"',
);
const version = header(text, "Version", "For If-Match.", '"2026-11-21T12:00:00.000Z"');
const preferenceApplied = header(optional, "PreferenceApplied", "The applied wait.", "wait=20");
const location = header(text, "Location", "The URL of the prediction.");
const wwwAuthenticate = header(text, "WwwAuthenticate", "How to sign in.", "Bearer");
const allow = header(text, "Allow", "The methods of this path.", "GET, HEAD, POST, OPTIONS");

/** Leaves out headers that are false or undefined. */
const headersOf = (given: Record<string, z.ZodType | false | undefined>): z.ZodObject =>
  z.object(Object.fromEntries(Object.entries(given).flatMap(([name, schema]) => (schema ? [[name, schema]] : []))));

/** The headers of a successful answer. */
export function answerHeaders({ method, caller, tagged, versioned, waits }: Operation): z.ZodObject {
  const isLimited = caller !== "nobody" && caller !== "server";
  return headersOf({
    "X-Request-Id": requestId,
    RateLimit: isLimited && rateLimit,
    "RateLimit-Policy": isLimited && rateLimitPolicy,
    "Idempotency-Replayed": method === "POST" && replayed,
    "Retry-After": tagged && retryAfter,
    ETag: versioned ? version : tagged && etag,
    "Preference-Applied": waits && preferenceApplied,
    Location: waits && method === "POST" && location,
  });
}

/** The headers of an error with one of these codes. */
export function errorHeaders(codes: ErrorCode[]): z.ZodObject {
  const has = (...anyOf: ErrorCode[]) => anyOf.some((code) => codes.includes(code));
  return headersOf({
    "X-Request-Id": requestId,
    "Retry-After": has("rate_limited", "unavailable", "schema_outdated") && mustWait,
    RateLimit: has("rate_limited") && rateLimit,
    "RateLimit-Policy": has("rate_limited") && rateLimitPolicy,
    "WWW-Authenticate": has("unauthorized") && wwwAuthenticate,
    Allow: has("method_not_allowed") && allow,
  });
}

const parameter = (id: string, description: string, schema = text) =>
  schema.optional().meta({ description, param: { id } });

export const requestIdGiven = parameter(
  "RequestIdGiven",
  "Returned in the answer and written to the log.",
  text.regex(/^[A-Za-z0-9._-]{1,128}$/),
);
const idempotencyKey = parameter(
  "IdempotencyKey",
  "Repeating a request with the same key within 24 hours returns the first answer: nothing is created or charged twice.",
  visibleAscii,
);
const ifNoneMatch = parameter("IfNoneMatch", "The ETag of your copy. The answer is 304 when the copy is current.");
const ifMatch = parameter(
  "IfMatch",
  "The ETag of the project, film or element as you read it. The answer is 412 when it has changed since.",
);
const waitForEnd = parameter(
  "PreferWaitForEnd",
  "wait=N: answers when the prediction has ended, or after N seconds (at most 25). The more waits you have open, the later each notices a change.",
);
const waitForChange = parameter(
  "PreferWaitForChange",
  "wait=N: answers when the status differs from that of If-None-Match (without it: from the current one), or after N seconds (at most 25). The more waits you have open, the later each notices a change.",
);

// This header is no security scheme: generated clients send every scheme, so they would send it with each session, which is refused.
const actingFor = id.optional().meta({
  description:
    "From a server, beside the secret key: the id of the user (auth.users.id) for whom it acts. The request has that user's rights, limits and rows, and nothing more. Without the secret key, or together with a session, it is refused (403 `forbidden`). Browsers cannot send it.",
  param: { id: "KeyframeUser" },
});

const payingUser = id.describe("The id of the user (auth.users.id).");

/** The headers of a request, without its credentials. */
export function requestHeaders(operation: Operation): z.ZodObject {
  const { method, tagged, waits, errors, caller } = operation;
  return headersOf({
    "X-Request-Id": requestIdGiven,
    "Keyframe-User": caller === "server" ? payingUser : caller !== "nobody" && actingFor,
    "Idempotency-Key": takesKey(operation) && idempotencyKey,
    "If-None-Match": tagged && method === "GET" && ifNoneMatch,
    "If-Match": method !== "POST" && errors?.includes("precondition_failed") && ifMatch,
    Prefer: waits && (method === "POST" ? waitForEnd : waitForChange),
  });
}
