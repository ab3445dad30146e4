import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import type { Row } from "../support/database/predictions.ts";
import { codeOf } from "../support/database/refusal.ts";
import { addScene, makeRequest, type Scene } from "../support/database/requests.ts";
import { liftRateLimits } from "../support/database/user.ts";
import { call, clearWebhooks, readDelivery, seedDeliveries } from "../support/database/webhooks.ts";

// What a replay answers once the first answer's resource has changed or gone. One effect, of each POST: test/api/idempotency.

const db = useDatabase();
let scene: Scene;
beforeAll(async () => {
  await liftRateLimits(db);
});
beforeEach(async () => {
  await clearWebhooks(db.sql);
  await db.sql`delete from keyframe_private.idempotency_keys`;
  scene = await addScene(db, await db.addUser());
});

const KEY = { idempotency_key: "once", request_hash: "a".repeat(64) };

test("redeliver_webhook of another user's delivery, with a key that was used for an own one → not_found", async () => {
  const theirs = await addScene(db, await db.addUser());
  await makeRequest(db, scene, "redeliver_webhook", KEY);
  const { caller } = scene;
  expect(await codeOf(makeRequest(db, { ...theirs, caller }, "redeliver_webhook", KEY))).toBe("not_found");
});

describe("rotate_webhook_secret", () => {
  const rotate = (key: object, hours = 24) =>
    call<{ secret: string; replayed: boolean }>(db, scene.caller, "rotate_webhook_secret", {
      endpoint_id: scene.endpoint,
      overlap_hours: hours,
      ...key,
    });
  const live = async () => {
    const [row] = await db.sql<
      { secrets: string[] }[]
    >`select keyframe_private.webhook_secrets_of(${scene.endpoint}) as secrets`;
    return row?.secrets ?? [];
  };

  test("replayed after another rotation → still the secret that its own rotation made", async () => {
    const first = await rotate(KEY);
    const second = await rotate({});
    expect(second.secret).not.toBe(first.secret);
    expect(await rotate(KEY)).toMatchObject({ secret: first.secret, replayed: true });
  });

  test("replayed when that secret is gone → not_found, with where the current one is, and no new one", async () => {
    await rotate(KEY);
    const { secret } = await rotate({}, 0);
    expect(await codeOf(rotate(KEY))).toBe("not_found");
    expect(await live()).toEqual([secret]);
  });

  test("replayed when that secret's overlap is over, pruned or not → not_found", async () => {
    await rotate(KEY);
    await rotate({}, 1);
    await db.sql`update keyframe_private.webhook_secrets set expires_at = now() - interval '1 second' where expires_at is not null`;
    expect(await codeOf(rotate(KEY))).toBe("not_found");
    await db.sql`select keyframe_private.prune()`;
    expect(await codeOf(rotate(KEY))).toBe("not_found");
  });

  test("→ no secret is kept with the key", async () => {
    const { secret } = await rotate(KEY);
    const [row] = await db.sql`select string_agg(k::text, ' ') as kept from keyframe_private.idempotency_keys k`;
    expect(row?.kept).toContain("once");
    expect(row?.kept).not.toContain(secret.slice("whsec_".length, -1));
  });
});

test("test_webhook_endpoint replayed → the delivery as it is now, also when the endpoint has been disabled since; gone → not_found", async () => {
  const { delivery } = await makeRequest<{ delivery: Row & { id: string } }>(db, scene, "test_webhook_endpoint", KEY);
  await db.sql`update keyframe.webhook_deliveries set status = 'delivered', completed_at = now(), attempts = 1 where id = ${delivery.id}`;
  await db.sql`update keyframe.webhook_endpoints set enabled = false where id = ${scene.endpoint}`;
  const again = await makeRequest<{ delivery: Row }>(db, scene, "test_webhook_endpoint", KEY);
  expect(again.delivery).toMatchObject({ id: delivery.id, status: "delivered", attempts: 1 });
  await db.sql`delete from keyframe.webhook_deliveries where id = ${delivery.id}`;
  expect(await codeOf(makeRequest(db, scene, "test_webhook_endpoint", KEY))).toBe("not_found");
});

test("redeliver_webhook replayed after it was delivered again → the delivery as it is, and not sent a third time", async () => {
  await makeRequest(db, scene, "redeliver_webhook", KEY);
  await db.sql`update keyframe.webhook_deliveries set status = 'delivered', completed_at = now(), attempts = 2 where id = ${scene.delivery}`;
  const again = await makeRequest<{ delivery: Row }>(db, scene, "redeliver_webhook", KEY);
  expect(again.delivery).toMatchObject({ id: scene.delivery, status: "delivered", attempts: 2 });
  expect(await readDelivery(db.sql, scene.delivery)).toMatchObject({ status: "delivered" });
});

test("cancel_prediction replayed → the prediction as it is; after its project is gone → not_found", async () => {
  const first = await makeRequest<{ prediction: Row }>(db, scene, "cancel_prediction", KEY);
  expect(first.prediction).toMatchObject({ id: scene.prediction, status: "canceled" });
  const again = await makeRequest<{ prediction: Row }>(db, scene, "cancel_prediction", KEY);
  expect(again.prediction).toEqual(first.prediction);
  await db.sql`delete from keyframe.projects where id = ${scene.project}`;
  expect(await codeOf(makeRequest(db, scene, "cancel_prediction", KEY))).toBe("not_found");
});

describe("recover_webhook_endpoint", () => {
  const EXHAUSTED = { status: "exhausted", attempts: 10, completed_at: new Date() };
  const recover = () =>
    makeRequest<{ recovered: number; replayed: boolean }>(db, scene, "recover_webhook_endpoint", KEY);

  test("replayed after more has failed → the number of then, and what failed since stays as it is", async () => {
    await seedDeliveries(db.sql, scene.endpoint, 2, EXHAUSTED);
    expect(await recover()).toMatchObject({ recovered: 2, replayed: false });
    const [id = ""] = await seedDeliveries(db.sql, scene.endpoint, 1, EXHAUSTED);
    expect(await recover()).toMatchObject({ recovered: 2, replayed: true });
    expect((await readDelivery(db.sql, id)).status).toBe("exhausted");
  });

  test("that recovered nothing → replayed, still says 0", async () => {
    expect(await recover()).toMatchObject({ recovered: 0, replayed: false });
    expect(await recover()).toMatchObject({ recovered: 0, replayed: true });
  });
});
