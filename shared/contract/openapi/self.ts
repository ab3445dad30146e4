import { z } from "zod";
import type { ZodOpenApiPathItemObject } from "zod-openapi";
import { requestId } from "./answer-headers.ts";
import { requestIdGiven } from "./request-headers.ts";
import { errorResponses } from "./responses.ts";

const document = z.looseObject({
  openapi: z.string().regex(/^3\.1\.\d+$/),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.looseObject({}),
});

/** GET /api/openapi.json. No operation of the contract, because its answer stands in no envelope, as that of metrics. */
export const selfPath: ZodOpenApiPathItemObject = {
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
