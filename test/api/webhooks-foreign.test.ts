import { beforeAll, describe, expect, test } from "vitest";
import { callApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { signUp, type User } from "../support/api/user.ts";
import { asProject, listDeliveries, type Manager, register, serviceWide } from "../support/api/webhooks.ts";

const sql = openDatabase();
const registerServiceWide = serviceWide();
const project = asProject();
let owner: User;
let stranger: User;
type Ids = { webhookId: string; deliveryId: string };
let ofOwner: Ids;
let ofProject: Ids;

/** An endpoint that is off and has a delivery, so that nothing but a request of a test can change it. */
async function settled(by: Manager, webhookId: string): Promise<Ids> {
  await by.post(`/api/webhooks/${webhookId}/test`, {});
  await by.call(`/api/webhooks/${webhookId}`, { method: "PATCH", json: { enabled: false } });
  await sql`
    update keyframe.webhook_deliveries set status = 'exhausted', completed_at = now()
    where endpoint_id = ${webhookId}`;
  const [delivery] = (await listDeliveries(by, webhookId)).deliveries;
  return { webhookId, deliveryId: delivery?.deliveryId ?? "" };
}
beforeAll(async () => {
  [owner, stranger] = await Promise.all([signUp(), signUp()]);
  ofOwner = await settled(owner, (await register(owner, { eventTypes: ["generation.failed"] })).webhookId);
  const { webhookId } = await registerServiceWide({ eventTypes: ["generation.failed"] });
  ofProject = await settled(project, webhookId);
});

const ROUTES: Record<string, (by: Manager, ids: Ids) => ReturnType<User["call"]>> = {
  "GET :id": (by, { webhookId }) => by.call(`/api/webhooks/${webhookId}`),
  "PATCH :id": (by, { webhookId }) =>
    by.call(`/api/webhooks/${webhookId}`, {
      method: "PATCH",
      json: { enabled: true, url: "http://127.0.0.1:65535/mine" },
    }),
  "DELETE :id": (by, { webhookId }) => by.call(`/api/webhooks/${webhookId}`, { method: "DELETE" }),
  "GET :id/secret": (by, { webhookId }) => by.call(`/api/webhooks/${webhookId}/secret`),
  "POST :id/secret/rotate": (by, { webhookId }) =>
    by.post(`/api/webhooks/${webhookId}/secret/rotate`, { overlapHours: 0 }),
  "POST :id/test": (by, { webhookId }) => by.post(`/api/webhooks/${webhookId}/test`, {}),
  "GET :id/deliveries": (by, { webhookId }) => by.call(`/api/webhooks/${webhookId}/deliveries`),
  "GET deliveries/:id/attempts": (by, { deliveryId }) => by.call(`/api/webhooks/deliveries/${deliveryId}/attempts`),
  "POST :id/recover": (by, { webhookId }) =>
    by.post(`/api/webhooks/${webhookId}/recover`, { since: "2020-01-01T00:00:00Z" }),
  "POST deliveries/:id/redeliver": (by, { deliveryId }) =>
    by.post(`/api/webhooks/deliveries/${deliveryId}/redeliver`, {}),
};

/** All there is of an endpoint. */
const stateOf = async ({ webhookId }: Ids) =>
  await sql`
  select to_jsonb(e) as endpoint, keyframe_private.webhook_secrets_of(e.id) as secrets,
    (select jsonb_agg(to_jsonb(d) order by d.id) from keyframe.webhook_deliveries d where d.endpoint_id = e.id) as deliveries
  from keyframe.webhook_endpoints e where e.id = ${webhookId}`;

const CASES: Record<string, () => [caller: Manager, ids: Ids]> = {
  "a user, of another user's endpoint": () => [stranger, ofOwner],
  "a user, of a service-wide endpoint": () => [owner, ofProject],
  "the project by its secret key, of a user's endpoint": () => [project, ofOwner],
};

describe.each(Object.entries(CASES))("%s", (_who, give) => {
  test.each(Object.entries(ROUTES))(
    "%s → 404, word for word as for one that never was, and nothing changed",
    async (_name, call) => {
      const [caller, ids] = give();
      const before = await stateOf(ids);
      expect(before.length).toBe(1);
      const foreign = await call(caller, ids);
      const unknown = await call(caller, { webhookId: crypto.randomUUID(), deliveryId: crypto.randomUUID() });
      expect([foreign.status, foreign.error?.code]).toEqual([404, "not_found"]);
      expect({ ...foreign.error, requestId: "" }).toEqual({ ...unknown.error, requestId: "" });
      expect(await stateOf(ids)).toEqual(before);
    },
  );
});

test("the same requests by who manages them → each succeeds", async () => {
  const isDelete = ([name]: [string, unknown]) => name.startsWith("DELETE");
  const routes = Object.entries(ROUTES).toSorted((a, b) => Number(isDelete(a)) - Number(isDelete(b)));
  const managed: [Manager, Ids][] = [
    [owner, await settled(owner, (await register(owner)).webhookId)],
    [project, await settled(project, (await registerServiceWide({ eventTypes: ["generation.failed"] })).webhookId)],
  ];
  for (const [manager, ids] of managed) {
    for (const [name, call] of routes) expect([name, (await call(manager, ids)).error]).toEqual([name, null]);
  }
});

test.each(Object.entries(ROUTES))("%s without a session → 401", async (_name, call) => {
  const nobody: Manager = { call: callApi, post: (path, json) => callApi(path, { json }) };
  const { status, error } = await call(nobody, ofOwner);
  expect([status, error?.code]).toEqual([401, "unauthorized"]);
});
