import { health, healthQuery } from "../service.ts";
import type { Operation } from "./operation.ts";

export const serviceOperations = {
  readHealth: {
    method: "GET",
    at: "/health",
    tag: "Service",
    summary: "Whether the service and its database answer",
    description:
      "Asks the database once. With `deep=1` and the project's secret key, the response also has the figures of the queue, the webhooks and the scheduled jobs, and `problems` says what does not work and what to do; with any other key or token it is 401.\n\n" +
      "503 means that the database or the platform is away: wait the seconds in `Retry-After`.",
    caller: "nobody",
    needsSecretKey: "deep=1",
    query: healthQuery,
    status: 200,
    answer: health,
    examples: [{ summary: "No session needed" }],
  },
} as const satisfies Record<string, Operation>;
