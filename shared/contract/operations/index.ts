import type { z } from "zod";
import { health, healthQuery } from "../service.ts";
import { elementOperations } from "./elements.ts";
import { filmOperations } from "./films.ts";
import { generationOperations } from "./generation.ts";
import { keyOperations } from "./keys.ts";
import type { Operation } from "./operation.ts";
import { projectOperations } from "./projects.ts";
import { shareOperations } from "./shares.ts";
import { webhookOperations } from "./webhooks.ts";

const serviceOperations = {
  readHealth: {
    method: "GET",
    at: "/health",
    tag: "Service",
    summary: "Check the service and its database",
    description:
      "200 when the database answers and its tables can be written. With `deep=1` and the project's secret key, it is 200 also when they cannot, and has figures of the queue, the webhooks and the scheduled jobs, and `problems` says what does not work and what to do. Any other key or token gets 401.\n\n" +
      "503 means that the database or the platform is not available, or, without `deep`, that a write would fail: wait for the time in `Retry-After`.",
    caller: "nobody",
    needsSecretKey: "deep=1",
    query: healthQuery,
    status: 200,
    answer: health,
    examples: [{ summary: "No session needed" }],
  },
} as const satisfies Record<string, Operation>;

/** Every operation of the API, by operationId. */
export const OPERATIONS = {
  ...projectOperations,
  ...filmOperations,
  ...elementOperations,
  ...shareOperations,
  ...generationOperations,
  ...webhookOperations,
  ...keyOperations,
  ...serviceOperations,
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof OPERATIONS;

type Of<Id extends OperationId> = (typeof OPERATIONS)[Id];

/** The body after validation. Undefined without a body. */
export type BodyOf<Id extends OperationId> =
  Of<Id> extends { body: infer Body extends z.ZodType } ? z.output<Body> : undefined;

/** The query after validation. */
export type QueryOf<Id extends OperationId> =
  Of<Id> extends { query: infer Query extends z.ZodType } ? z.output<Query> : Record<never, never>;

/** `data` of a successful answer. */
export type AnswerOf<Id extends OperationId> = z.infer<Of<Id>["answer"]>;
