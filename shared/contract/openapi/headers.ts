import { z } from "zod";
import type { ErrorCode } from "../../http/errors.ts";
import { id } from "../fields.ts";
import { type Operation, takesKey } from "../operations/operation.ts";

// A header with an id becomes one shared component.
export const requestId = z.string().meta({
  description: "The one you sent, or a new one.",
  example: "0f6c2f0e-4a0a-4f0c-8f43-0c2a9c9a7b91",
  header: { id: "RequestId" },
});
const retryAfter = z
  .string()
  .optional()
  .meta({ description: "Seconds to wait before the next read.", example: "2", header: { id: "RetryAfter" } });
const mustWait = retryAfter.unwrap().meta({
  description: "Seconds to wait before the next attempt.",
  example: "2",
  header: { id: "MustWait" },
});
const rateLimit = z
  .string()
  .optional()
  .meta({
    description:
      "The remaining requests (r), and the seconds (t) until the limit is full again or, after a 429, until the next request is allowed.",
    example: '"generate";r=59;t=1',
    header: { id: "RateLimit" },
  });
const rateLimitPolicy = z
  .string()
  .optional()
  .meta({
    description: "The limit: q requests in w seconds.",
    example: '"generate";q=60;w=60',
    header: { id: "RateLimitPolicy" },
  });
const replayed = z
  .string()
  .optional()
  .meta({
    description: "true when this is the stored answer to an earlier request with the same key.",
    example: "true",
    header: { id: "IdempotencyReplayed" },
  });
const etag = z.string().meta({
  description: "For If-None-Match.",
  example: 'W/"processing-2b9a1c6e-7f43-4d0e-b1b8-1d5c2e7a4f41.1..0.35-0"',
  header: { id: "ETag" },
});
const version = z.string().meta({
  description: "For If-Match.",
  example: '"2026-11-21T12:00:00.000Z"',
  header: { id: "Version" },
});
const preferenceApplied = z
  .string()
  .optional()
  .meta({ description: "The applied wait.", example: "wait=20", header: { id: "PreferenceApplied" } });
const location = z.string().meta({ description: "The URL of the prediction.", header: { id: "Location" } });
const wwwAuthenticate = z
  .string()
  .meta({ description: "How to sign in.", example: "Bearer", header: { id: "WwwAuthenticate" } });
const allow = z.string().meta({
  description: "The methods of this path.",
  example: "GET, HEAD, POST, OPTIONS",
  header: { id: "Allow" },
});

/** Without those that are false or undefined. */
function headersOf(given: Record<string, z.ZodType | false | undefined>): z.ZodObject {
  const isThere = (entry: [string, z.ZodType | false | undefined]): entry is [string, z.ZodType] => Boolean(entry[1]);
  return z.object(Object.fromEntries(Object.entries(given).filter(isThere)));
}

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
  const has = (...wanted: ErrorCode[]) => wanted.some((code) => codes.includes(code));
  return headersOf({
    "X-Request-Id": requestId,
    "Retry-After": has("rate_limited", "unavailable", "schema_outdated") && mustWait,
    RateLimit: has("rate_limited") && rateLimit,
    "RateLimit-Policy": has("rate_limited") && rateLimitPolicy,
    "WWW-Authenticate": has("unauthorized") && wwwAuthenticate,
    Allow: has("method_not_allowed") && allow,
  });
}

export const requestIdGiven = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,128}$/)
  .optional()
  .meta({ description: "Returned in the answer and written to the log.", param: { id: "RequestIdGiven" } });
const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/)
  .optional()
  .meta({
    description:
      "Repeating a request with the same key within 24 hours returns the first answer: nothing is created or charged twice.",
    param: { id: "IdempotencyKey" },
  });
const ifNoneMatch = z
  .string()
  .optional()
  .meta({
    description: "The ETag of your copy. The answer is 304 when the copy is current.",
    param: { id: "IfNoneMatch" },
  });
const ifMatch = z
  .string()
  .optional()
  .meta({
    description: "The ETag of the project or film as you read it. The answer is 412 when it has changed since.",
    param: { id: "IfMatch" },
  });
const waitForEnd = z
  .string()
  .optional()
  .meta({
    description:
      "wait=N: answers when the prediction has ended, or after N seconds (at most 25). The more waits you have open, the later each notices a change.",
    param: { id: "PreferWaitForEnd" },
  });
const waitForChange = z
  .string()
  .optional()
  .meta({
    description:
      "wait=N: answers when the status differs from that of If-None-Match (without it: from the current one), or after N seconds (at most 25). The more waits you have open, the later each notices a change.",
    param: { id: "PreferWaitForChange" },
  });

// Not a security scheme: generated clients send every scheme, so they would send this header with each session, which is refused.
const actingFor = id.optional().meta({
  description:
    "From a server, beside the secret key: the id of the user (auth.users.id) for whom it acts. The request has that user's rights, limits and rows, and nothing more. Without the secret key, or together with a session, it is refused (403 `forbidden`). Browsers cannot send it.",
  param: { id: "KeyframeUser" },
});

const payingUser = id.meta({ description: "The id of the user (auth.users.id)." });

/** The headers of a request, without its credentials. */
export function requestHeaders(operation: Operation): z.ZodObject {
  const { method, tagged, waits, errors, caller } = operation;
  return headersOf({
    "X-Request-Id": requestIdGiven,
    "Keyframe-User": caller === "server" ? payingUser : caller !== "nobody" && actingFor,
    "Idempotency-Key": takesKey(operation) && idempotencyKey,
    "If-None-Match": tagged && method === "GET" && ifNoneMatch,
    "If-Match": errors?.includes("precondition_failed") && ifMatch,
    Prefer: waits && (method === "POST" ? waitForEnd : waitForChange),
  });
}
