import { noFields } from "../fields.ts";
import { SAMPLE } from "../samples.ts";
import {
  changeWebhookBody,
  createdWebhook,
  createWebhookBody,
  delivery,
  deliveryPage,
  deliveryPath,
  listDeliveriesQuery,
  recoveredDeliveries,
  recoverWebhookBody,
  rotateSecretBody,
  webhook,
  webhookList,
  webhookPath,
  webhookSecretAnswer,
} from "../webhooks.ts";
import type { Operation } from "./operation.ts";

const path = { webhookId: SAMPLE.webhookId };
const all = { tag: "Webhooks", caller: "manager" } as const;
const ofOne = { ...all, path: webhookPath, errors: ["not_found"] } as const;

export const webhookOperations = {
  createWebhook: {
    ...all,
    method: "POST",
    at: "/webhooks",
    summary: "Add an endpoint",
    description:
      "With a session token, the endpoint belongs to the user and receives that user's events; a user has at most 20. With the project's secret key, it is service-wide and receives the events of all users. The response contains `secret`, which verifies signatures: keep it on your server.\n\n" +
      "`invalid_request` names what is wrong with `url`: it must be https and lead to a public address. After a timeout or a 5xx, repeat the request with the same `Idempotency-Key`: one endpoint is created.",
    body: createWebhookBody,
    status: 201,
    answer: createdWebhook,
    examples: [
      { summary: "Every event", body: { url: "https://crm.example.com/keyframe" } },
      {
        summary: "Only new projects",
        body: { url: "https://crm.example.com/deals", description: "Deals", eventTypes: ["project.created"] },
      },
    ],
  },
  listWebhooks: {
    ...all,
    method: "GET",
    at: "/webhooks",
    summary: "List the endpoints, newest first",
    description:
      "Returns all of them in one page, without their secrets. With a session token: the endpoints of the user. With the project's secret key: the service-wide ones.",
    status: 200,
    answer: webhookList,
    examples: [{ summary: "All endpoints" }],
  },
  readWebhook: {
    ...ofOne,
    method: "GET",
    at: "/webhooks/:webhookId",
    summary: "Read an endpoint",
    description:
      "Every attempt since `failingSince` has failed. `disabledReason` says why nothing is sent: `by_owner`, `gone` (it answered 410) or `failing` (by default five days of failures). Repair the receiver, enable the endpoint, then recover the missed events.",
    status: 200,
    answer: webhook,
    examples: [{ summary: "One endpoint", path }],
  },
  changeWebhook: {
    ...ofOne,
    method: "PATCH",
    at: "/webhooks/:webhookId",
    summary: "Change an endpoint",
    description:
      "Send at least one field; fields you leave out keep their value. A disabled endpoint receives nothing: its pending deliveries wait, and are due at once when you enable it. Recover the events that occurred in between.\n\n" +
      "After a timeout or a 5xx, repeat the request: the result is the same.",
    body: changeWebhookBody,
    status: 200,
    answer: webhook,
    examples: [
      { summary: "Fewer events", path, body: { eventTypes: ["generation.succeeded", "generation.failed"] } },
      { summary: "Pause it", path, body: { enabled: false } },
    ],
  },
  deleteWebhook: {
    ...ofOne,
    method: "DELETE",
    at: "/webhooks/:webhookId",
    summary: "Delete an endpoint with its secrets and deliveries",
    description:
      "This cannot be undone. Pending deliveries are not sent; a request that is being sent may still arrive. To pause an endpoint, disable it instead.\n\n" +
      "If a repeated request answers `not_found`, the first one succeeded.",
    status: 200,
    answer: webhook,
    examples: [{ summary: "An endpoint", path }],
  },
  revealSecret: {
    ...ofOne,
    method: "GET",
    at: "/webhooks/:webhookId/secret",
    summary: "Read the signing secret",
    description:
      "Returns the current secret, for the configuration of your receiver. Keep it on your server. If it leaks, rotate it with `overlapHours: 0`.",
    status: 200,
    answer: webhookSecretAnswer,
    examples: [{ summary: "The secret", path }],
  },
  rotateSecret: {
    ...ofOne,
    method: "POST",
    at: "/webhooks/:webhookId/secret/rotate",
    summary: "Rotate the secret",
    description:
      "The new secret signs at once. The old one signs too for `overlapHours`, so that a receiver with either secret accepts the events. Change the receiver's configuration within that time.\n\n" +
      "At most three secrets sign at a time: another rotation ends the oldest. `overlapHours: 0` revokes all old secrets. After a timeout, repeat the request with the same `Idempotency-Key`, or read the secret.",
    body: rotateSecretBody,
    bodyMayBeEmpty: true,
    status: 200,
    answer: webhookSecretAnswer,
    examples: [
      { summary: "With a day of overlap", path, body: {} },
      { summary: "At once", path, body: { overlapHours: 0 } },
    ],
  },
  testWebhook: {
    ...ofOne,
    method: "POST",
    at: "/webhooks/:webhookId/test",
    summary: "Send webhook.test to the endpoint",
    description:
      "Sends the event whether or not `eventTypes` lists it. The response is the pending delivery; list the deliveries to see its result.\n\n" +
      "`invalid_request` means that the endpoint is disabled: enable it first.",
    body: noFields,
    bodyMayBeEmpty: true,
    status: 202,
    answer: delivery,
    examples: [{ summary: "A test", path }],
  },
  listDeliveries: {
    ...ofOne,
    method: "GET",
    at: "/webhooks/:webhookId/deliveries",
    summary: "List the deliveries with their attempts, newest first",
    description:
      "`attemptLog` has each request with its time, duration, status code, kind of error and the first 1 KiB of the receiver's answer. By default, deliveries are kept for 30 days. Pass `nextCursor` as `cursor` to read the next page; it is null on the last one.\n\n" +
      "If a cursor is refused with `invalid_request`, start again without it.",
    query: listDeliveriesQuery,
    status: 200,
    answer: deliveryPage,
    examples: [
      { summary: "The newest 20", path },
      { summary: "Deliveries that failed at every attempt", path, query: { status: "exhausted" } },
      { summary: "For one type of event", path, query: { eventType: "project.created" } },
    ],
  },
  readDelivery: {
    ...all,
    method: "GET",
    at: "/webhooks/deliveries/:deliveryId/attempts",
    summary: "Read a delivery with its attempts",
    description:
      "Follows one delivery, for example after a test or after sending it again. `body` is what is signed and sent; each attempt in `attemptLog` has the headers of its request and the beginning of the receiver's answer.",
    path: deliveryPath,
    status: 200,
    answer: delivery,
    errors: ["not_found"],
    examples: [{ summary: "One delivery", path: { deliveryId: SAMPLE.deliveryId } }],
  },
  redeliver: {
    ...all,
    method: "POST",
    at: "/webhooks/deliveries/:deliveryId/redeliver",
    summary: "Send a delivery again",
    description:
      "The delivery is due at once, whatever its outcome was, with a new schedule of retries. The receiver gets the same `webhook-id`, and earlier attempts stay in the log. A disabled endpoint receives it when it is enabled.\n\n" +
      "After a timeout or a 5xx, repeat the request with the same `Idempotency-Key`: it is sent again once.",
    path: deliveryPath,
    body: noFields,
    bodyMayBeEmpty: true,
    status: 202,
    answer: delivery,
    errors: ["not_found"],
    examples: [{ summary: "A delivery", path: { deliveryId: SAMPLE.deliveryId } }],
  },
  recoverWebhook: {
    ...ofOne,
    method: "POST",
    at: "/webhooks/:webhookId/recover",
    summary: "Recover failed and missed events since a time",
    description:
      "Sends again the deliveries that failed, and the events of the endpoint's present types that have no delivery because it was disabled or did not have that type yet. Delivered events are not sent again. By default, events are kept for 30 days; older ones cannot be recovered. `recovered` is the number of deliveries.\n\n" +
      "After a timeout or a 5xx, repeat the request with the same `Idempotency-Key`.",
    body: recoverWebhookBody,
    status: 202,
    answer: recoveredDeliveries,
    examples: [{ summary: "After an outage", path, body: { since: "2026-11-21T12:00:00Z" } }],
  },
} as const satisfies Record<string, Operation>;
