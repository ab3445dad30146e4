import { expect, test } from "vitest";
import { delivery } from "../../shared/contract/webhooks.ts";
import { openDatabase } from "../support/api/database.ts";
import { useUser } from "../support/api/user.ts";
import { dataOf } from "../support/api/envelope.ts";
import { insertDelivery, listDeliveries, register } from "../support/api/webhooks.ts";

const sql = openDatabase();
const user = useUser();

const quiet = async (fields: Record<string, unknown> = {}) =>
  (await register(user, { enabled: false, eventTypes: ["project.created"], ...fields })).webhookId;

const inDatabase = async (webhookId: string) =>
  (
    await sql<{ id: string }[]>`
      select id from keyframe.webhook_deliveries where endpoint_id = ${webhookId} order by created_at desc, id desc`
  ).map(({ id }) => id);

test("POST test of an endpoint → 202 with a delivery of webhook.test, even if it does not subscribe to that type", async () => {
  const { webhookId } = await register(user, { eventTypes: ["generation.failed"] });
  const sent = delivery.parse(dataOf(await user.post(`/api/webhooks/${webhookId}/test`, {}), 202));
  expect(sent).toMatchObject({ webhookId, eventType: "webhook.test", status: "pending", attempts: 0, attemptLog: [] });
  expect(Date.parse(sent.nextAttemptAt ?? "")).toBeGreaterThanOrEqual(Date.parse(sent.createdAt));
  const [event] = await sql`select payload from keyframe.webhook_events where id = ${sent.eventId}`;
  expect(event?.payload).toMatchObject({ type: "webhook.test", data: { endpointId: webhookId } });
  const { deliveries } = await listDeliveries(user, webhookId);
  expect(deliveries.map(({ deliveryId }) => deliveryId)).toEqual([sent.deliveryId]);
});

test("POST test of a disabled endpoint → 400, and nothing is sent", async () => {
  const off = await quiet();
  const { status, error } = await user.post(`/api/webhooks/${off}/test`, {});
  expect([status, error?.code]).toEqual([400, "invalid_request"]);
  expect(await inDatabase(off)).toEqual([]);
});

test("GET of a delivery → its attempts, first to last, with the beginning of each answer", async () => {
  const webhookId = await quiet();
  await insertDelivery(sql, user, webhookId, "exhausted", "2026-01-01");
  const [deliveryId] = await inDatabase(webhookId);
  await sql`
    insert into keyframe.webhook_attempts (delivery_id, owner_id, attempt, started_at, duration_ms, status_code, error, response_excerpt)
    values (${deliveryId ?? ""}, ${user.id}, 2, '2026-01-01T00:00:05Z', 15000, null, 'timeout', null),
           (${deliveryId ?? ""}, ${user.id}, 1, '2026-01-01T00:00:00Z', 12, 500, 'http_status', 'Ooops')`;
  const { deliveries, nextCursor } = await listDeliveries(user, webhookId);
  expect(nextCursor).toBeNull();
  expect(deliveries).toMatchObject([{ deliveryId, status: "exhausted", nextAttemptAt: null }]);
  const headers = (at: string) => ({
    "webhook-id": deliveries[0]?.eventId,
    "webhook-timestamp": String(Date.parse(at) / 1000),
    "content-type": "application/json",
    "user-agent": "Keyframe-Webhooks/1",
  });
  expect(deliveries[0]?.attemptLog).toEqual([
    {
      attempt: 1,
      startedAt: "2026-01-01T00:00:00.000Z",
      durationMs: 12,
      statusCode: 500,
      error: "http_status",
      responseExcerpt: "Ooops",
      requestHeaders: headers("2026-01-01T00:00:00Z"),
    },
    {
      attempt: 2,
      startedAt: "2026-01-01T00:00:05.000Z",
      durationMs: 15000,
      statusCode: null,
      error: "timeout",
      responseExcerpt: null,
      requestHeaders: headers("2026-01-01T00:00:05Z"),
    },
  ]);
  const read = await user.call(`/api/webhooks/deliveries/${deliveryId}/attempts`);
  expect(delivery.parse(dataOf(read, 200))).toEqual(deliveries[0]);
});

test("GET of deliveries → each with its project, by title until that is deleted; with eventType → only those", async () => {
  const webhookId = await quiet();
  await user.call(`/api/webhooks/${webhookId}`, { method: "PATCH", json: { enabled: true } });
  const projectId = await user.createProject();
  await user.post(`/api/webhooks/${webhookId}/test`, {});
  const only = async (eventType: string) => (await listDeliveries(user, webhookId, { eventType })).deliveries;
  const [created, ...others] = await only("project.created");
  expect(others).toEqual([]);
  const { title } = JSON.parse(created?.body ?? "").data;
  expect(created).toMatchObject({ projectId, projectTitle: title, predictionId: null });
  expect(await only("webhook.test")).toMatchObject([{ projectId: null, projectTitle: null, predictionId: null }]);
  expect(await only("generation.failed")).toEqual([]);
  await user.call(`/api/projects/${projectId}`, { method: "DELETE" });
  expect(await only("project.created")).toMatchObject([{ projectId, projectTitle: null }]);
});
