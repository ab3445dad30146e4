import { z } from "zod";
import type { ZodOpenApiPathItemObject } from "zod-openapi";
import { requestId } from "./answer-headers.ts";
import { requestIdGiven } from "./request-headers.ts";
import { errorResponses } from "./responses.ts";

/** What Prometheus asks for, and what the answer is. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** GET /api/metrics. No operation of the contract, because its answer stands in no envelope, as that of openapi.json. */
export const metricsPath: ZodOpenApiPathItemObject = {
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
      ...errorResponses(["unauthorized", "method_not_allowed", "internal", "unavailable"]),
    },
    "x-examples": [{ summary: "With the secret key" }],
  },
};
