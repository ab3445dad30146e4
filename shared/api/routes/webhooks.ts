import { z } from "zod";
import { type Delivery, delivery, type Webhook, webhook } from "../../contract/webhooks.ts";
import { requestHeaders } from "../../webhooks/request-headers.ts";
import { answerBase } from "../data/database.ts";
import { fromRow, position, toRow } from "../data/rows.ts";
import { invalidFields } from "../errors.ts";
import { cutPage, pageArguments } from "../http/cursor.ts";
import { answerHeaders } from "../http/respond.ts";
import type { Deps, Handler } from "./handler.ts";

/** A row of webhook_endpoints. */
const endpointRow = fromRow(
  webhook.omit({ webhookId: true, serviceWide: true }).extend({ id: z.string(), ownerId: z.string().nullable() }),
);

/** A delivery from keyframe_private.delivery_json, with its attempts, first to last. */
const deliveryRow = fromRow(
  delivery.omit({ deliveryId: true, webhookId: true }).extend({
    ...position,
    endpointId: z.string(),
    attemptLog: z.array(fromRow(delivery.shape.attemptLog.element.omit({ requestHeaders: true }))),
  }),
);

const mapEndpoint = ({ id, ownerId, ...fields }: z.infer<typeof endpointRow>): Webhook => ({
  webhookId: id,
  ...fields,
  serviceWide: ownerId === null,
});

const mapDelivery = ({ id, endpointId, created_at, ...fields }: z.infer<typeof deliveryRow>): Delivery => ({
  deliveryId: id,
  webhookId: endpointId,
  ...fields,
  nextAttemptAt: fields.status === "pending" ? fields.nextAttemptAt : null,
  attemptLog: fields.attemptLog.map((attempt) => ({
    ...attempt,
    requestHeaders: requestHeaders(fields.eventId, new Date(attempt.startedAt)),
  })),
});

const endpointAnswer = answerBase.extend({ endpoint: endpointRow });
const endpointsAnswer = answerBase.extend({ endpoints: z.array(endpointRow) });
const createdAnswer = endpointAnswer.extend({ secret: z.string() });

export const listWebhooks: Handler<"listWebhooks"> = async ({ caller }, { database }) => {
  const answer = await database.read("list_webhook_endpoints", {}, caller, endpointsAnswer);
  return { data: { webhooks: answer.endpoints.map(mapEndpoint) }, headers: answerHeaders(answer) };
};

export const createWebhook: Handler<"createWebhook"> = async (call, { database, refuseUrl }) => {
  await requireUsable(call.body.url, refuseUrl);
  const args = { ...toRow(call.body), ...call.idempotency };
  const answer = await database.call("create_webhook_endpoint", args, call.caller, createdAnswer);
  return { data: { ...mapEndpoint(answer.endpoint), secret: answer.secret }, headers: answerHeaders(answer) };
};

export const readWebhook: Handler<"readWebhook"> = async ({ path, caller }, { database }) => {
  const args = { endpoint_id: path("webhookId") };
  const answer = await database.read("read_webhook_endpoint", args, caller, endpointAnswer);
  return { data: mapEndpoint(answer.endpoint), headers: answerHeaders(answer) };
};

export const changeWebhook: Handler<"changeWebhook"> = async ({ path, body, caller }, { database, refuseUrl }) => {
  if (body.url !== undefined) await requireUsable(body.url, refuseUrl);
  const args = { endpoint_id: path("webhookId"), ...toRow(body) };
  const answer = await database.call("update_webhook_endpoint", args, caller, endpointAnswer);
  return { data: mapEndpoint(answer.endpoint), headers: answerHeaders(answer) };
};

export const deleteWebhook: Handler<"deleteWebhook"> = async ({ path, caller }, { database }) => {
  const args = { endpoint_id: path("webhookId") };
  const answer = await database.call("delete_webhook_endpoint", args, caller, endpointAnswer);
  return { data: mapEndpoint(answer.endpoint), headers: answerHeaders(answer) };
};

async function requireUsable(address: string, refuseUrl: Deps["refuseUrl"]): Promise<void> {
  const reason = await refuseUrl(address);
  if (reason !== null) throw invalidFields([{ path: "url", message: reason }]);
}

const secretAnswer = answerBase.extend({ secret: z.string() });

export const revealSecret: Handler<"revealSecret"> = async ({ path, caller }, { database }) => {
  const answer = await database.call("reveal_webhook_secret", { endpoint_id: path("webhookId") }, caller, secretAnswer);
  return { data: { secret: answer.secret }, headers: answerHeaders(answer) };
};

export const rotateSecret: Handler<"rotateSecret"> = async (call, { database }) => {
  const { path, body, idempotency, caller } = call;
  const args = { endpoint_id: path("webhookId"), ...toRow(body), ...idempotency };
  const answer = await database.call("rotate_webhook_secret", args, caller, secretAnswer);
  return { data: { secret: answer.secret }, headers: answerHeaders(answer) };
};

const deliveryAnswer = answerBase.extend({ delivery: deliveryRow });
const deliveriesAnswer = answerBase.extend({ deliveries: z.array(deliveryRow) });
const recoveredAnswer = answerBase.extend({ recovered: z.int() });

export const testWebhook: Handler<"testWebhook"> = async ({ path, idempotency, caller }, { database }) => {
  const args = { endpoint_id: path("webhookId"), ...idempotency };
  const answer = await database.call("test_webhook_endpoint", args, caller, deliveryAnswer);
  return { data: mapDelivery(answer.delivery), headers: answerHeaders(answer) };
};

export const listDeliveries: Handler<"listDeliveries"> = async ({ path, query, caller }, { database }) => {
  const { status, eventType } = query;
  const args = { endpoint_id: path("webhookId"), status, event_type: eventType, ...pageArguments(query) };
  const answer = await database.read("list_webhook_deliveries", args, caller, deliveriesAnswer);
  const { rows, nextCursor } = cutPage(answer.deliveries, query.limit);
  return { data: { deliveries: rows.map(mapDelivery), nextCursor }, headers: answerHeaders(answer) };
};

export const readDelivery: Handler<"readDelivery"> = async ({ path, caller }, { database }) => {
  const args = { delivery_id: path("deliveryId") };
  const answer = await database.read("read_webhook_delivery", args, caller, deliveryAnswer);
  return { data: mapDelivery(answer.delivery), headers: answerHeaders(answer) };
};

export const redeliver: Handler<"redeliver"> = async ({ path, idempotency, caller }, { database }) => {
  const args = { delivery_id: path("deliveryId"), ...idempotency };
  const answer = await database.call("redeliver_webhook", args, caller, deliveryAnswer);
  return { data: mapDelivery(answer.delivery), headers: answerHeaders(answer) };
};

export const recoverWebhook: Handler<"recoverWebhook"> = async (call, { database }) => {
  const { path, body, idempotency, caller } = call;
  const args = { endpoint_id: path("webhookId"), ...toRow(body), ...idempotency };
  const answer = await database.call("recover_webhook_endpoint", args, caller, recoveredAnswer);
  return { data: { recovered: answer.recovered }, headers: answerHeaders(answer) };
};
