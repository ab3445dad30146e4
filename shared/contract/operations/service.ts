import { health } from "../service.ts";
import type { Operation } from "./operation.ts";

export const serviceOperations = {
  readHealth: {
    method: "GET",
    at: "/health",
    tag: "Service",
    summary: "Whether the service and its database answer",
    caller: "nobody",
    status: 200,
    answer: health,
    examples: [{ summary: "No session needed" }],
  },
} as const satisfies Record<string, Operation>;
