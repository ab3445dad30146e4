import { z } from "zod";
import type {
  ZodOpenApiContentObject,
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiRequestBodyObject,
} from "zod-openapi";
import type { ErrorCode } from "../../http/errors.ts";
import { OPERATIONS, type OperationId } from "../operations/index.ts";
import type { Operation } from "../operations/operation.ts";
import { METRICS_TYPE } from "../service.ts";
import { ANSWERS } from "./answers.ts";
import { requestHeaders, requestId, requestIdGiven } from "./headers.ts";
import { errorResponses, responsesOf } from "./responses.ts";

/** The paths of the contract, and the two whose answers have no envelope. */
export function pathsOf(): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = { "/api/openapi.json": selfPath, "/api/metrics": metricsPath };
  for (const [operationId, operation] of Object.entries<Operation>(OPERATIONS)) {
    const path = `/api${operation.at.replaceAll(/:(\w+)/g, "{$1}")}` as const;
    const sample = ANSWERS[operationId as OperationId]; // a key of OPERATIONS, which Object.entries forgets
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operationId, operation, sample) };
  }
  return paths;
}

function describe(operationId: string, operation: Operation, sample: unknown): ZodOpenApiOperationObject {
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
    responses: responsesOf(operation, sample),
    // Each example has a path and query, because test/api/reference-examples.test.ts sends it.
    "x-examples": operation.examples.map((example) => ({ ...example })),
  };
}

type Security = Record<string, string[]>[];

/** An empty object in the list allows calls without credentials. */
function securityOf({ caller, needsSecretKey }: Operation): Security {
  if (needsSecretKey !== undefined) return [{}, { secretKey: [] }];
  if (caller === "server") return [{ secretKey: [] }];
  return caller === "nobody" ? [] : [{ session: [] }, { secretKey: [] }];
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

type Plain = {
  operationId: string;
  summary: string;
  description: string;
  example: string;
  content: ZodOpenApiContentObject;
};

/** A path that is not an operation of the contract, because its answer has no envelope. */
const plainPath = ({ example, content, ...about }: Plain, security: Security, errors: ErrorCode[]) => ({
  get: {
    ...about,
    tags: ["Service"],
    security,
    requestParams: { header: z.object({ "X-Request-Id": requestIdGiven }) },
    responses: {
      "200": { description: "Success.", headers: z.object({ "X-Request-Id": requestId }), content },
      ...errorResponses(errors),
    },
    "x-examples": [{ summary: example }],
  },
});

const selfPath = plainPath(
  {
    operationId: "readOpenApi",
    summary: "Read this document",
    description:
      "Returns the document without the envelope, as tools expect it; errors are in the envelope. Import its URL into an API client, or generate types from it.",
    example: "No session needed",
    content: { "application/json": { schema: document } },
  },
  [],
  ["method_not_allowed", "internal"],
);

const metricsPath = plainPath(
  {
    operationId: "readMetrics",
    summary: "The figures of health?deep=1 for Prometheus",
    description:
      "Returns the text format of Prometheus without the envelope; errors are in the envelope. Send the project's secret key (`sb_secret_…`) as `apikey` or as bearer token: on supabase.com it is under Settings, API Keys, and that of `npm start` is `secretKey` in `.keyframe/keys.json`. Each scrape reads the figures from the database.",
    example: "With the secret key",
    content: { [METRICS_TYPE]: { schema: z.string() } },
  },
  [{ secretKey: [] }],
  ["unauthorized", "method_not_allowed", "internal", "unavailable", "schema_outdated"],
);
