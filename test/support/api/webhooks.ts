import type postgres from "postgres";
import { afterAll, inject } from "vitest";
import { createdWebhook, deliveryPage, webhookSecretAnswer } from "../../../shared/contract/webhooks.ts";
import { type CallOptions, callApi } from "./call.ts";
import { dataOf } from "./envelope.ts";
import type { User } from "./user.ts";

/** Nobody listens there, so what is sent fails at once. */
export const SILENT = "http://127.0.0.1:65535/hooks";

export type Manager = Pick<User, "call" | "post">;

export function asProject(): Manager {
  const headers = { apikey: inject("stack").secretKey };
  const call = (path: string, options: CallOptions = {}) =>
    callApi(path, { ...options, headers: { ...headers, ...options.headers } });
  return { call, post: (path, json, given = {}) => call(path, { json, headers: given }) };
}

/** Registers an endpoint; a service-wide one must go after the test file, or it gets the events of all users from then on. */
export async function register(by: Manager, fields: Record<string, unknown> = {}) {
  return createdWebhook.parse(dataOf(await by.post("/api/webhooks", { url: SILENT, ...fields }), 201));
}

/** Endpoints of the project registered with this are deleted when the test file has ended. */
export function serviceWide() {
  const project = asProject();
  const made: string[] = [];
  afterAll(async () => {
    for (const id of made) await project.call(`/api/webhooks/${id}`, { method: "DELETE" });
  });
  return async (fields: Record<string, unknown> = {}) => {
    const created = await register(project, fields);
    made.push(created.webhookId);
    return created;
  };
}

export const revealSecret = async (by: Manager, id: string) =>
  webhookSecretAnswer.parse(dataOf(await by.call(`/api/webhooks/${id}/secret`), 200)).secret;

export const listDeliveries = async (by: Manager, id: string, query: Record<string, string> = {}) =>
  deliveryPage.parse(dataOf(await by.call(`/api/webhooks/${id}/deliveries?${new URLSearchParams(query)}`), 200));

/**
 * A delivery that has ended, of a moment given as text: postgres.js would cut a timestamptz to milliseconds. Its event is of today, or the
 * pruning of old events would take it away meanwhile.
 */
export const insertDelivery = (sql: postgres.Sql, user: User, webhookId: string, status: string, at: string) => sql`
  with event as (
    insert into keyframe.webhook_events (type, owner_id, endpoint_id, payload)
    values ('webhook.test', ${user.id}, ${webhookId}, '{}') returning id)
  insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, status, attempts, created_at, completed_at)
  select id, ${webhookId}, ${user.id}, 'webhook.test', ${status}::keyframe.delivery_status, 0, ${at}::text::timestamptz,
    ${at}::text::timestamptz from event`;
