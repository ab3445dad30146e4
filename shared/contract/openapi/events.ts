import { z } from "zod";
import type { ZodOpenApiObject, ZodOpenApiPathItemObject } from "zod-openapi";
import { generationFailed, generationSucceeded, projectCreated, webhookTest } from "../events.ts";
import { id } from "../fields.ts";

/** What every delivery carries (https://www.standardwebhooks.com). */
const headers = z.object({
  "webhook-id": id.meta({ description: "The event. The same in every attempt: remember it to do nothing twice." }),
  "webhook-timestamp": z.string().meta({ description: "Seconds since 1970; refuse what is older than five minutes." }),
  "webhook-signature": z
    .string()
    .meta({ description: "v1,<base64 of HMAC-SHA256 over id.timestamp.body>; several while a secret rotates." }),
});

const event = (operationId: string, summary: string, schema: z.ZodType): ZodOpenApiPathItemObject => ({
  post: {
    operationId,
    tags: ["Events"],
    summary,
    security: [],
    requestParams: { header: headers },
    requestBody: { required: true, content: { "application/json": { schema } } },
    responses: {
      "2XX": { description: "Received. Anything else, or no answer, and it comes again." },
      "410": { description: "Gone: the endpoint is disabled." },
    },
  },
});

/** What Keyframe sends to webhook endpoints. */
export const events: ZodOpenApiObject["webhooks"] = {
  "project.created": event("onProjectCreated", "A project was created", projectCreated),
  "generation.succeeded": event("onGenerationSucceeded", "A frame or a video is in Storage", generationSucceeded),
  "generation.failed": event(
    "onGenerationFailed",
    "A generation failed; look at error before trying again",
    generationFailed,
  ),
  "webhook.test": event("onWebhookTest", "Somebody asked for a test of the endpoint", webhookTest),
};
