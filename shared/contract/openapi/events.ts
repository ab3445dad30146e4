import { z } from "zod";
import type { ZodOpenApiPathItemObject } from "zod-openapi";
import {
  balanceExhausted,
  balanceLow,
  budgetExhausted,
  generationFailed,
  generationSucceeded,
  projectCreated,
  webhookTest,
} from "../events.ts";
import { id } from "../fields.ts";
import { pascal } from "./responses.ts";

/** The headers of every delivery (https://www.standardwebhooks.com). */
const headers = z.object({
  "webhook-id": id.describe(
    "The identifier of the event, the same in every attempt. Store it to process each event once.",
  ),
  "webhook-timestamp": z.string().describe("Seconds since 1970. Reject requests older than five minutes."),
  "webhook-signature": z
    .string()
    .describe("v1,<base64 of HMAC-SHA256 over id.timestamp.body>; several while a secret rotates."),
});

type EventSchema = z.ZodObject<{ type: z.ZodLiteral<string> }>;

function event(schema: EventSchema, summary: string, description: string): [string, ZodOpenApiPathItemObject] {
  const type = schema.shape.type.value;
  const post = {
    operationId: `on${pascal(type)}`,
    tags: ["Events"],
    summary,
    description,
    security: [],
    requestParams: { header: headers },
    requestBody: { required: true, content: { "application/json": { schema } } },
    responses: {
      "2XX": { description: "Received. After any other status, or no answer, the delivery is retried." },
      "410": { description: "Gone. Keyframe disables the endpoint." },
    },
  };
  return [type, { post }];
}

/** What Keyframe sends to webhook endpoints. */
export const events = Object.fromEntries([
  event(
    projectCreated,
    "A project was created",
    "Sent once for each project, for example to add it to a CRM. If `data.truncated` is true, `textPrompt` and `description` were shortened: read the project for the whole texts.",
  ),
  event(
    generationSucceeded,
    "A frame or a video is in Storage",
    "Sent once for each prediction that succeeds. The event has no link, because links expire: read the prediction for `output.url`.",
  ),
  event(
    generationFailed,
    "A generation failed",
    "Sent once for each prediction that fails, at the provider or in the queue. Read `error` before you start the step again: if `error.retryable` is false, the same request fails again. A canceled prediction sends no event.",
  ),
  event(
    budgetExhausted,
    "A budget refused a start",
    "Sent once for each budget in each of its periods, when a start is first refused. A start that costs no more than what is left is still allowed.",
  ),
  event(
    balanceLow,
    "A balance is low",
    "Sent once after each credit, when a start or a refund has left less than the service's threshold. Ask the user to add credit.",
  ),
  event(
    balanceExhausted,
    "A balance refused a start",
    "Sent once after each credit, when a start is first refused. A start that costs no more than what is left is still allowed.",
  ),
  event(
    webhookTest,
    "A test of the endpoint",
    "Sent when a test is requested through the API or the dashboard. Verify its signature and answer with 2xx; there is nothing else to do.",
  ),
]);
