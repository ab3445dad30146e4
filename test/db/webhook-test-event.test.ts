import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import type { Row } from "../support/database/predictions.ts";
import { codeOf } from "../support/database/refusal.ts";
import { addEndpoint, call, clearWebhooks, exchange } from "../support/database/webhooks.ts";

const db = useDatabase();
let owner: string;
let endpoint: string;
beforeAll(async () => {
  owner = await db.addUser();
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  endpoint = await addEndpoint(db.sql, owner);
});

describe("test_webhook_endpoint", () => {
  const sendTest = async (endpoint_id = endpoint) =>
    (await call<{ delivery: Row & { id: string } }>(db, owner, "test_webhook_endpoint", { endpoint_id })).delivery;

  test("→ one delivery of webhook.test, to that endpoint and to no other, service-wide ones included", async () => {
    await addEndpoint(db.sql, owner);
    await addEndpoint(db.sql, null);
    const delivery = await sendTest();
    expect(delivery).toMatchObject({
      endpoint_id: endpoint,
      event_type: "webhook.test",
      status: "pending",
      attempts: 0,
      attempt_log: [],
    });
    const { deliveries } = await exchange(db.sql);
    expect(deliveries).toMatchObject([{ id: delivery.id, endpoint_id: endpoint }]);
  });

  test("of an endpoint that does not list the type → sent all the same", async () => {
    await db.sql`update keyframe.webhook_endpoints set event_types = '{generation.failed}' where id = ${endpoint}`;
    expect((await sendTest()).event_type).toBe("webhook.test");
  });

  test("of a disabled endpoint → invalid_request, no event", async () => {
    await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${endpoint}`;
    expect(await codeOf(sendTest())).toBe("invalid_request");
    expect((await db.sql`select from keyframe.webhook_events`).count).toBe(0);
  });

  test("again and again → counted against the caller's rate limit", async () => {
    await db.sql`update keyframe_private.rate_limits set capacity = 2, per_second = 0.001 where route_class = 'create'`;
    await db.sql`truncate keyframe_private.rate_buckets`;
    await sendTest();
    await sendTest();
    expect(await codeOf(sendTest())).toBe("rate_limited");
    await db.sql`update keyframe_private.rate_limits set capacity = 60, per_second = 1 where route_class = 'create'`;
  });
});
