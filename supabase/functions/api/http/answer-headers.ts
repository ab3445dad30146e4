import { z } from "zod";

/** A class of requests as the RateLimit fields name it. */
export const policyName = z.string().regex(/^[a-z0-9_-]+$/);

/** How the caller's token bucket stands, as keyframe_private.rate_state tells it; null for a class without a limit. */
export const rateState = z
  .object({
    policy: policyName,
    limit: z.int(),
    remaining: z.int(),
    reset_seconds: z.int(),
    window_seconds: z.int(),
  })
  .nullable();

/** What every SQL function of ours answers beside its rows; `replayed` where an Idempotency-Key may be given. */
export const answered = z.object({ rate: rateState, replayed: z.boolean().optional() });

/** RateLimit fields (draft-ietf-httpapi-ratelimit-headers) and Idempotency-Replayed. */
export function answerHeaders({ rate, replayed }: z.infer<typeof answered>): Record<string, string> {
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
