import { z } from "zod";
import { answered, answerHeaders } from "../http/answer-headers.ts";
import type { Handler, Needs } from "../call.ts";
import { invalidFields } from "../http/invalid-request.ts";
import { endpointRow, mapEndpoint } from "../rows/map-webhook.ts";

const one = answered.extend({ endpoint: endpointRow });
const all = answered.extend({ endpoints: z.array(endpointRow) });
const created = one.extend({ secret: z.string() });

/** GET /api/webhooks → 200 { webhooks }, newest first. */
export const listWebhooks: Handler<"listWebhooks"> = async ({ token }, { database }) => {
  const answer = await database("list_webhook_endpoints", {}, token, all);
  return { data: { webhooks: answer.endpoints.map(mapEndpoint) }, headers: answerHeaders(answer) };
};

/** POST /api/webhooks → 201 with the endpoint and its secret, also when it is the answer to a repeated request. */
export const createWebhook: Handler<"createWebhook"> = async (call, { database, refuseUrl }) => {
  const { url, description, eventTypes, enabled } = call.body;
  await requireUsable(url, refuseUrl);
  const args = { url, description, event_types: eventTypes, enabled, ...call.idempotency };
  const answer = await database("create_webhook_endpoint", args, call.token, created);
  return { data: { ...mapEndpoint(answer.endpoint), secret: answer.secret }, headers: answerHeaders(answer) };
};

/** GET /api/webhooks/:webhookId → 200 with the endpoint. */
export const readWebhook: Handler<"readWebhook"> = async ({ path, token }, { database }) => {
  const answer = await database("read_webhook_endpoint", { endpoint_id: path("webhookId") }, token, one);
  return { data: mapEndpoint(answer.endpoint), headers: answerHeaders(answer) };
};

/** PATCH /api/webhooks/:webhookId → 200 with the endpoint as it is now. */
export const changeWebhook: Handler<"changeWebhook"> = async ({ path, body, token }, { database, refuseUrl }) => {
  const { url, description, eventTypes, enabled } = body;
  if (url !== undefined) await requireUsable(url, refuseUrl);
  const args = { endpoint_id: path("webhookId"), url, description, event_types: eventTypes, enabled };
  const answer = await database("update_webhook_endpoint", args, token, one);
  return { data: mapEndpoint(answer.endpoint), headers: answerHeaders(answer) };
};

/** DELETE /api/webhooks/:webhookId → 200 with the endpoint that is gone, its secrets and deliveries with it. */
export const deleteWebhook: Handler<"deleteWebhook"> = async ({ path, token }, { database }) => {
  const answer = await database("delete_webhook_endpoint", { endpoint_id: path("webhookId") }, token, one);
  return { data: mapEndpoint(answer.endpoint), headers: answerHeaders(answer) };
};

async function requireUsable(address: string, refuseUrl: Needs["refuseUrl"]): Promise<void> {
  const reason = await refuseUrl(address);
  if (reason !== null) throw invalidFields([{ path: "url", message: reason }]);
}
