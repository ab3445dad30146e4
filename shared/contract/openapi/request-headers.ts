import { z } from "zod";
import type { Operation } from "../operations/operation.ts";

export const requestIdGiven = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,128}$/)
  .optional()
  .meta({ description: "Comes back in the answer and stands in the log.", param: { id: "RequestIdGiven" } });
const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/)
  .optional()
  .meta({
    description:
      "The same key and request within 24 hours give the first answer again: nothing is made twice, nothing charged twice.",
    param: { id: "IdempotencyKey" },
  });
const ifNoneMatch = z
  .string()
  .optional()
  .meta({ description: "The ETag of what you have: 304 when it is still right.", param: { id: "IfNoneMatch" } });
const waitForEnd = z
  .string()
  .optional()
  .meta({
    description: "wait=N: holds the answer until the prediction has ended, for at most N (up to 25) seconds.",
    param: { id: "PreferWaitForEnd" },
  });
const waitForNews = z
  .string()
  .optional()
  .meta({
    description:
      "wait=N: holds the answer until the status is another than that of If-None-Match (without it: than now), for at most N (up to 25) seconds.",
    param: { id: "PreferWaitForNews" },
  });

/** The headers a request of the operation may send, beside its credentials. */
export function requestHeaders({ method, tagged, waits }: Operation): z.ZodObject {
  return z.object({
    "X-Request-Id": requestIdGiven,
    ...(method === "POST" ? { "Idempotency-Key": idempotencyKey } : {}),
    ...(tagged && method === "GET" ? { "If-None-Match": ifNoneMatch } : {}),
    ...(waits ? { Prefer: method === "POST" ? waitForEnd : waitForNews } : {}),
  });
}
