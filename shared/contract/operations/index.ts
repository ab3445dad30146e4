import type { z } from "zod";
import { generationOperations } from "./generation.ts";
import type { Operation } from "./operation.ts";
import { projectOperations } from "./projects.ts";
import { serviceOperations } from "./service.ts";
import { webhookOperations } from "./webhooks.ts";

/** Everything the API does, by operationId. */
export const OPERATIONS = {
  ...projectOperations,
  ...generationOperations,
  ...webhookOperations,
  ...serviceOperations,
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof OPERATIONS;

type Of<Id extends OperationId> = (typeof OPERATIONS)[Id];

/** What a caller may send as JSON body: fields with a default may be absent. Undefined where none is taken. */
export type BodyInput<Id extends OperationId> =
  Of<Id> extends { body: infer Body extends z.ZodType } ? z.input<Body> : undefined;

/** The body as validation leaves it. Undefined where none is taken. */
export type BodyOf<Id extends OperationId> =
  Of<Id> extends { body: infer Body extends z.ZodType } ? z.output<Body> : undefined;

/** The query as validation leaves it. */
export type QueryOf<Id extends OperationId> =
  Of<Id> extends { query: infer Query extends z.ZodType } ? z.output<Query> : Record<never, never>;

/** `data` of a successful answer. */
export type AnswerOf<Id extends OperationId> = z.infer<Of<Id>["answer"]>;
