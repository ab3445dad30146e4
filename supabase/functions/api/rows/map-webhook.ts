import { z } from "zod";
import { type Delivery, delivery, type Webhook, webhook } from "../../../../shared/contract/webhooks.ts";
import { requestHeaders } from "../../../../shared/webhooks/request-headers.ts";
import { fromRow, position } from "./from-row.ts";

/** A row of webhook_endpoints. */
export const endpointRow = fromRow(
  webhook.omit({ webhookId: true, serviceWide: true }).extend({ id: z.string(), ownerId: z.string().nullable() }),
);

/** A delivery from keyframe_private.delivery_json, with its attempts, first to last. */
export const deliveryRow = fromRow(
  delivery.omit({ deliveryId: true, webhookId: true }).extend({
    ...position,
    endpointId: z.string(),
    attemptLog: z.array(fromRow(delivery.shape.attemptLog.element.omit({ requestHeaders: true }))),
  }),
);

export const mapEndpoint = ({ id, ownerId, ...fields }: z.infer<typeof endpointRow>): Webhook => ({
  webhookId: id,
  ...fields,
  serviceWide: ownerId === null,
});

export const mapDelivery = ({ id, endpointId, created_at, ...fields }: z.infer<typeof deliveryRow>): Delivery => ({
  deliveryId: id,
  webhookId: endpointId,
  ...fields,
  nextAttemptAt: fields.status === "pending" ? fields.nextAttemptAt : null,
  attemptLog: fields.attemptLog.map((attempt) => ({
    ...attempt,
    requestHeaders: requestHeaders(fields.eventId, new Date(attempt.startedAt)),
  })),
});
