import { z } from "zod";
import { listDeliveriesQuery, recoveredDeliveries, recoverWebhookBody } from "../../../shared/contract/webhooks.ts";
import type { Needs, UserCall } from "./call.ts";
import { readCursor, writeCursor } from "./delivery-cursor.ts";
import { readIdempotency } from "./idempotency.ts";
import { deliveryRow, mapDelivery } from "./map-webhook.ts";
import { noFields, readOptionalJson } from "./optional-json.ts";
import { readJson } from "./request-body.ts";
import { noQuery, readQuery } from "./request-query.ts";
import type { Answer } from "./respond.ts";

// None of these keeps an Idempotency-Key: repeating them sends an event once more at most, which receivers must bear anyway.

const one = z.object({ delivery: deliveryRow });
const page = z.object({ deliveries: z.array(deliveryRow) });

/** POST /api/webhooks/:id/test → 202 with the delivery of a webhook.test event. */
export async function testWebhook(call: UserCall, { database }: Needs): Promise<Answer> {
  await readNothing(call);
  const args = { endpoint_id: call.id };
  const { delivery } = await database("test_webhook_endpoint", args, call.session.token, one);
  return { status: 202, data: mapDelivery(delivery) };
}

/** GET /api/webhooks/:id/deliveries → 200 { deliveries, nextCursor }, newest first, each with its attempts. */
export async function listDeliveries({ id, url, session }: UserCall, { database }: Needs): Promise<Answer> {
  const { status, limit, cursor } = readQuery(url, listDeliveriesQuery);
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const args = {
    endpoint_id: id,
    status,
    max_rows: limit + 1, // one more tells whether there is another page
    before_created_at: after?.created_at,
    before_id: after?.id,
  };
  const { deliveries } = await database("list_webhook_deliveries", args, session.token, page);
  const shown = deliveries.slice(0, limit);
  const last = shown.at(-1);
  const nextCursor = last !== undefined && deliveries.length > limit ? writeCursor(last) : null;
  return { status: 200, data: { deliveries: shown.map(mapDelivery), nextCursor } };
}

/** POST /api/webhooks/deliveries/:id/redeliver → 202 with the delivery, due again whatever came of it. */
export async function redeliver(call: UserCall, { database }: Needs): Promise<Answer> {
  await readNothing(call);
  const { delivery } = await database("redeliver_webhook", { delivery_id: call.id }, call.session.token, one);
  return { status: 202, data: mapDelivery(delivery) };
}

/** POST /api/webhooks/:id/recover → 202 { recovered }: how many of those that failed or were missed since a time are due again. */
export async function recoverWebhook(call: UserCall, { database }: Needs): Promise<Answer> {
  const { id, request, url, session } = call;
  readQuery(url, noQuery);
  const body = await readJson(request, recoverWebhookBody);
  await readIdempotency(request, url.pathname, body);
  const args = { endpoint_id: id, since: body.since };
  const data = await database("recover_webhook_endpoint", args, session.token, recoveredDeliveries);
  return { status: 202, data };
}

async function readNothing({ request, url }: UserCall): Promise<void> {
  readQuery(url, noQuery);
  const body = await readOptionalJson(request, noFields);
  await readIdempotency(request, url.pathname, body);
}
