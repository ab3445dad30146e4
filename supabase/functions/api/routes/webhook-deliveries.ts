import { z } from "zod";
import { answered, answerHeaders } from "../http/answer-headers.ts";
import type { Handler } from "../call.ts";
import { cutPage, pageArguments } from "../http/cursor.ts";
import { deliveryRow, mapDelivery } from "../rows/map-webhook.ts";

const one = answered.extend({ delivery: deliveryRow });
const many = answered.extend({ deliveries: z.array(deliveryRow) });
const counted = answered.extend({ recovered: z.int() });

/** POST /api/webhooks/:webhookId/test → 202 with the delivery of a webhook.test event. */
export const testWebhook: Handler<"testWebhook"> = async ({ path, idempotency, token }, { database }) => {
  const args = { endpoint_id: path("webhookId"), ...idempotency };
  const answer = await database("test_webhook_endpoint", args, token, one);
  return { data: mapDelivery(answer.delivery), headers: answerHeaders(answer) };
};

/** GET /api/webhooks/:webhookId/deliveries → 200 { deliveries, nextCursor }, newest first, each with its attempts. */
export const listDeliveries: Handler<"listDeliveries"> = async ({ path, query, token }, { database }) => {
  const args = { endpoint_id: path("webhookId"), status: query.status, ...pageArguments(query) };
  const answer = await database("list_webhook_deliveries", args, token, many);
  const { rows, nextCursor } = cutPage(answer.deliveries, query.limit);
  return { data: { deliveries: rows.map(mapDelivery), nextCursor }, headers: answerHeaders(answer) };
};

/** POST /api/webhooks/deliveries/:deliveryId/redeliver → 202 with the delivery, due again whatever came of it. */
export const redeliver: Handler<"redeliver"> = async ({ path, idempotency, token }, { database }) => {
  const args = { delivery_id: path("deliveryId"), ...idempotency };
  const answer = await database("redeliver_webhook", args, token, one);
  return { data: mapDelivery(answer.delivery), headers: answerHeaders(answer) };
};

/** POST /api/webhooks/:webhookId/recover → 202 { recovered }: how many of those that failed or were missed since a time are due again. */
export const recoverWebhook: Handler<"recoverWebhook"> = async (call, { database }) => {
  const { path, body, idempotency, token } = call;
  const args = { endpoint_id: path("webhookId"), since: body.since, ...idempotency };
  const answer = await database("recover_webhook_endpoint", args, token, counted);
  return { data: { recovered: answer.recovered }, headers: answerHeaders(answer) };
};
