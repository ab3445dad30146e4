import { z } from "zod";
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiPathItemObject,
  ZodOpenApiPathsObject,
  ZodOpenApiRequestBodyObject,
} from "zod-openapi";
import { OPERATIONS } from "../operations/index.ts";
import { METRICS_TYPE } from "../service.ts";
import type { Operation } from "../operations/operation.ts";
import { requestHeaders, requestId, requestIdGiven } from "./headers.ts";
import { errorResponses, responsesOf } from "./responses.ts";

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

const document = z.looseObject({
  openapi: z.string().regex(/^3\.1\.\d+$/),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.looseObject({}),
});

/** GET /api/openapi.json. No operation of the contract, because its answer stands in no envelope, as that of metrics. */
const selfPath: ZodOpenApiPathItemObject = {
  get: {
    operationId: "readOpenApi",
    tags: ["Service"],
    summary: "Read this document",
    description:
      "Returns the OpenAPI document itself instead of the envelope, as tools expect it; errors are in the envelope. Import its address into an API client, or generate types from it.",
    security: [],
    requestParams: { header: z.object({ "X-Request-Id": requestIdGiven }) },
    responses: {
      "200": {
        description: "Done.",
        headers: z.object({ "X-Request-Id": requestId }),
        content: { "application/json": { schema: document } },
      },
      ...errorResponses(["method_not_allowed", "internal"]),
    },
    "x-examples": [{ summary: "No session needed" }],
  },
};

/** GET /api/metrics. No operation of the contract, because its answer stands in no envelope, as that of openapi.json. */
const metricsPath: ZodOpenApiPathItemObject = {
  get: {
    operationId: "readMetrics",
    tags: ["Service"],
    summary: "The figures of health?deep=1 for Prometheus",
    description:
      "Returns the text format of Prometheus instead of the envelope; errors are in the envelope. Send the project's secret key as `apikey` or as bearer token. Each scrape reads the figures from the database.",
    security: [{ secretKey: [] }],
    requestParams: { header: z.object({ "X-Request-Id": requestIdGiven }) },
    responses: {
      "200": {
        description: "Done.",
        headers: z.object({ "X-Request-Id": requestId }),
        content: { [METRICS_TYPE]: { schema: z.string() } },
      },
      ...errorResponses(["unauthorized", "method_not_allowed", "internal", "unavailable", "schema_outdated"]),
    },
    "x-examples": [{ summary: "With the secret key" }],
  },
};
