import { z } from "zod";

/** How the caller's token bucket stands, as private.rate_state tells it; null for a class without a limit. */
export const rateState = z
  .object({
    policy: z.string().regex(/^[a-z0-9_-]+$/),
    limit: z.int(),
    remaining: z.int(),
    reset_seconds: z.int(),
    window_seconds: z.int(),
  })
  .nullable();

/** What every SQL function that makes something answers beside it. */
export const madeOnce = z.object({ replayed: z.boolean(), rate: rateState });

/** RateLimit fields (draft-ietf-httpapi-ratelimit-headers) and Idempotency-Replayed. */
export function madeHeaders({ replayed, rate }: z.infer<typeof madeOnce>): Record<string, string> {
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
