import { z } from "zod";

/** A class of requests, as named in the RateLimit headers. */
export const policyName = z.string().regex(/^[a-z0-9_-]+$/);

/** The caller's token bucket, from keyframe_private.rate_state; null for a class without a limit. */
export const rateState = z
  .object({
    policy: policyName,
    limit: z.int(),
    remaining: z.int(),
    reset_seconds: z.int(),
    window_seconds: z.int(),
  })
  .nullable();

/** What every SQL function returns with its rows; `replayed` where an Idempotency-Key is accepted. */
export const answerBase = z.object({ rate: rateState, replayed: z.boolean().optional() });

/** RateLimit fields (draft-ietf-httpapi-ratelimit-headers) and Idempotency-Replayed. */
export function answerHeaders({ rate, replayed }: z.infer<typeof answerBase>): Record<string, string> {
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
