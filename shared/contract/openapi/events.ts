import { z } from "zod";
import type { ZodOpenApiObject, ZodOpenApiPathItemObject } from "zod-openapi";
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

/** The headers of every delivery (https://www.standardwebhooks.com). */
const headers = z.object({
  "webhook-id": id.meta({
    description: "The identifier of the event, the same in every attempt. Store it to process each event once.",
  }),
  "webhook-timestamp": z.string().meta({ description: "Seconds since 1970. Reject requests older than five minutes." }),
  "webhook-signature": z
    .string()
    .meta({ description: "v1,<base64 of HMAC-SHA256 over id.timestamp.body>; several while a secret rotates." }),
});

const event = (
  operationId: string,
  summary: string,
  description: string,
  schema: z.ZodType,
): ZodOpenApiPathItemObject => ({
  post: {
    operationId,
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
  },
});

/** What Keyframe sends to webhook endpoints. */
export const events: ZodOpenApiObject["webhooks"] = {
  "project.created": event(
    "onProjectCreated",
    "A project was created",
    "Sent once for each project, for example to add it to a CRM. If `data.truncated` is true, `textPrompt` and `description` were shortened: read the project for the whole texts.",
    projectCreated,
  ),
  "generation.succeeded": event(
    "onGenerationSucceeded",
    "A frame or a video is in Storage",
    "Sent once for each prediction that succeeds. The event has no link, because links expire: read the prediction for `output.url`.",
    generationSucceeded,
  ),
  "generation.failed": event(
    "onGenerationFailed",
    "A generation failed",
    "Sent once for each prediction that fails, at the provider or in the queue. Read `error` before you start the step again: if `error.retryable` is false, the same request fails again. A canceled prediction sends no event.",
    generationFailed,
  ),
  "budget.exhausted": event(
    "onBudgetExhausted",
    "A budget refused a start",
    "Sent once for each budget in each of its periods, when a start is first refused. A start that costs no more than what is left is still allowed.",
    budgetExhausted,
  ),
  "balance.low": event(
    "onBalanceLow",
    "A balance is low",
    "Sent once after each credit, when a start or a refund has left less than the service's threshold. Ask the user to add credit.",
    balanceLow,
  ),
  "balance.exhausted": event(
    "onBalanceExhausted",
    "A balance refused a start",
    "Sent once after each credit, when a start is first refused. A start that costs no more than what is left is still allowed.",
    balanceExhausted,
  ),
  "webhook.test": event(
    "onWebhookTest",
    "A test of the endpoint",
    "Sent when a test is requested through the API or the dashboard. Verify its signature and answer with 2xx; there is nothing else to do.",
    webhookTest,
  ),
};
