import { health, healthQuery } from "../service.ts";
import type { Operation } from "./operation.ts";

export const serviceOperations = {
  readHealth: {
    method: "GET",
    at: "/health",
    tag: "Service",
    summary: "Whether the service and its database answer",
    description:
      "Open to all. With `deep=1` it also tells how the queue, the webhooks and the housekeeping fare; that takes the project's secret key, and anything else is 401.",
    caller: "nobody",
    needsSecretKey: "deep=1",
    query: healthQuery,
    status: 200,
    answer: health,
    examples: [{ summary: "No session needed" }],
  },
} as const satisfies Record<string, Operation>;
