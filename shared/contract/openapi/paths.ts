import { z } from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject, ZodOpenApiRequestBodyObject } from "zod-openapi";
import { OPERATIONS } from "../operations/index.ts";
import type { Operation } from "../operations/operation.ts";
import { requestHeaders } from "./request-headers.ts";
import { responsesOf } from "./responses.ts";
import { metricsPath } from "./metrics.ts";
import { selfPath } from "./self.ts";

/** Every path of the contract with its methods, and the two whose answers stand in no envelope: the document's own, and metrics. */
export function pathsOf(): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = { "/api/openapi.json": selfPath, "/api/metrics": metricsPath };
  for (const [operationId, operation] of Object.entries<Operation>(OPERATIONS)) {
    const path = `/api${operation.at.replaceAll(/:(\w+)/g, "{$1}")}` as const;
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operationId, operation) };
  }
  return paths;
}

function describe(operationId: string, operation: Operation): ZodOpenApiOperationObject {
  const { tag, summary, description, path, query, body } = operation;
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: securityOf(operation),
    requestParams: {
      ...(path ? { path } : {}),
      ...(query ? { query } : {}),
      header: requestHeaders(operation),
    },
    ...(body === undefined ? {} : { requestBody: bodyOf(operation, body) }),
    responses: responsesOf(operation),
    // How each example is to be sent, beside its body: for those who try them, and for the test that does.
    "x-examples": operation.examples.map((example) => ({ ...example })),
  };
}

/** An empty object among them: also without any. */
function securityOf({ caller, needsSecretKey }: Operation): Record<string, string[]>[] {
  if (needsSecretKey !== undefined) return [{}, { secretKey: [] }];
  return { nobody: [], session: [{ session: [] }], manager: [{ session: [] }, { secretKey: [] }] }[caller];
}

const file = z.string().meta({ override: { type: "string", format: "binary" } });

function bodyOf({ examples, bodyMayBeEmpty }: Operation, body: z.ZodType | "image"): ZodOpenApiRequestBodyObject {
  if (body === "image") {
    const bytes = { schema: file };
    return {
      required: true,
      content: {
        "image/png": bytes,
        "image/jpeg": bytes,
        "image/webp": bytes,
        "multipart/form-data": { schema: z.strictObject({ file }) },
      },
    };
  }
  const shown = examples.filter((example) => example.body !== undefined);
  return {
    required: bodyMayBeEmpty !== true,
    content: {
      "application/json": {
        schema: body,
        examples: Object.fromEntries(shown.map(({ summary, body: value }) => [nameOf(summary), { summary, value }])),
      },
    },
  };
}

const nameOf = (summary: string) => summary.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
