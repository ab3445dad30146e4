import type { AnswerBase } from "../rows/database.ts";

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
