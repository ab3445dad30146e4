import { z } from "zod";
import { changeWebhookBody, createWebhookBody } from "../../../shared/contract/webhooks.ts";
import { madeHeaders, madeOnce } from "./answer-headers.ts";
import type { Needs, UserCall } from "./call.ts";
import { readIdempotency } from "./idempotency.ts";
import { invalidFields } from "./invalid-request.ts";
import { endpointRow, mapEndpoint } from "./map-webhook.ts";
import { readJson } from "./request-body.ts";
import { noQuery, readQuery } from "./request-query.ts";
import type { Answer } from "./respond.ts";

const one = z.object({ endpoint: endpointRow });
const all = z.object({ endpoints: z.array(endpointRow) });
const created = madeOnce.extend({ endpoint: endpointRow, secret: z.string() });

/** GET /api/webhooks → 200 { webhooks }, newest first. */
export async function listWebhooks({ url, session }: UserCall, { database }: Needs): Promise<Answer> {
  readQuery(url, noQuery);
  const { endpoints } = await database("list_webhook_endpoints", {}, session.token, all);
  return { status: 200, data: { webhooks: endpoints.map(mapEndpoint) } };
}

/** POST /api/webhooks → 201 with the endpoint and its secret, also when it is the answer to a repeated request. */
export async function createWebhook(call: UserCall, { database, refuseUrl }: Needs): Promise<Answer> {
  const { request, url, session } = call;
  readQuery(url, noQuery);
  const body = await readJson(request, createWebhookBody);
  requireUsable(body.url, refuseUrl);
  const args = {
    url: body.url,
    description: body.description,
    event_types: body.eventTypes,
    enabled: body.enabled,
    ...(await readIdempotency(request, url.pathname, body)),
  };
  const { endpoint, secret, ...made } = await database("create_webhook_endpoint", args, session.token, created);
  const headers = madeHeaders(session.ownerId === null ? { ...made, rate: null } : made); // the secret key has no limit
  return { status: 201, data: { ...mapEndpoint(endpoint), secret }, headers };
}

/** GET /api/webhooks/:id → 200 with the endpoint. */
export async function readWebhook({ id, url, session }: UserCall, { database }: Needs): Promise<Answer> {
  readQuery(url, noQuery);
  const { endpoint } = await database("read_webhook_endpoint", { endpoint_id: id }, session.token, one);
  return { status: 200, data: mapEndpoint(endpoint) };
}

/** PATCH /api/webhooks/:id → 200 with the endpoint as it is now. */
export async function changeWebhook(call: UserCall, { database, refuseUrl }: Needs): Promise<Answer> {
  const { id, request, url, session } = call;
  readQuery(url, noQuery);
  const body = await readJson(request, changeWebhookBody);
  if (body.url !== undefined) requireUsable(body.url, refuseUrl);
  const args = {
    endpoint_id: id,
    url: body.url,
    description: body.description,
    event_types: body.eventTypes,
    enabled: body.enabled,
  };
  const { endpoint } = await database("update_webhook_endpoint", args, session.token, one);
  return { status: 200, data: mapEndpoint(endpoint) };
}

/** DELETE /api/webhooks/:id → 200 with the endpoint that is gone, its secrets and deliveries with it. */
export async function deleteWebhook({ id, url, session }: UserCall, { database }: Needs): Promise<Answer> {
  readQuery(url, noQuery);
  const { endpoint } = await database("delete_webhook_endpoint", { endpoint_id: id }, session.token, one);
  return { status: 200, data: mapEndpoint(endpoint) };
}

function requireUsable(address: string, refuseUrl: Needs["refuseUrl"]): void {
  const reason = refuseUrl(address);
  if (reason !== null) throw invalidFields([{ path: "url", message: reason }]);
}
