import { expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { codeOf } from "../support/database/refusal.ts";
import { addScene, makeRequest, type Scene } from "../support/database/requests.ts";
import { untilSomebodyWaits } from "../support/database/waiting.ts";
import { exchange, resultOf } from "../support/database/webhooks.ts";

const db = useDatabase();

/** What came of a request that was made while a deletion was not yet committed. */
async function whileDeleting<T>(statement: string, request: () => Promise<T>): Promise<PromiseSettledResult<T>> {
  const { outcome } = await db.sql.begin(async (sql) => {
    await sql.unsafe(statement);
    const settled = Promise.allSettled([request()]);
    await Promise.race([settled, untilSomebodyWaits(db.sql)]);
    return { outcome: settled };
  });
  return (await outcome)[0];
}

const codeWhileDeleting = async (table: string, of: (scene: Scene) => string, name: string) => {
  const scene = await addScene(db, await db.addUser());
  const statement = `delete from keyframe.${table} where id = '${of(scene)}'`;
  const outcome = await whileDeleting(statement, () => makeRequest(db, scene, name));
  return outcome.status === "rejected" ? await codeOf(Promise.reject(outcome.reason)) : outcome.value;
};

test("a project created while its owner's endpoint is being deleted → the project is there, without a delivery", async () => {
  const scene = await addScene(db, await db.addUser());
  await db.sql`delete from keyframe.webhook_events`;
  const outcome = await whileDeleting(`delete from keyframe.webhook_endpoints where id = '${scene.endpoint}'`, () =>
    makeRequest(db, scene, "create_project"),
  );
  expect(outcome.status).toBe("fulfilled");
  const [counts] = await db.sql`
    select (select count(*)::int from keyframe.webhook_events where owner_id = ${scene.owner}) as events,
           (select count(*)::int from keyframe.webhook_deliveries) as deliveries`;
  expect(counts).toEqual({ events: 1, deliveries: 0 });
});

test("a claim while an endpoint with a used slot is being deleted → waits for no lock", async () => {
  const scene = await addScene(db, await db.addUser());
  await db.sql`update keyframe.webhook_deliveries set next_attempt_at = now() - interval '1 second' where id = ${scene.delivery}`;
  const { deliveries } = await exchange(db.sql);
  expect(deliveries.map(({ id }) => id)).toContain(scene.delivery);
  await exchange(db.sql, { results: deliveries.map((held) => resultOf(held)), maxLanes: 0 });
  await db.sql`update keyframe.webhook_deliveries set next_attempt_at = now() - interval '1 second' where id = ${scene.delivery}`;
  await db.sql.begin(async (sql) => {
    await sql`delete from keyframe.webhook_endpoints where id = ${scene.endpoint}`;
    await exchange(db.sql);
  });
});

test.each([
  "update_webhook_endpoint",
  "delete_webhook_endpoint",
  "rotate_webhook_secret",
  "test_webhook_endpoint",
  "recover_webhook_endpoint",
])("%s while the endpoint is being deleted → waits, then not_found", async (name) => {
  expect(await codeWhileDeleting("webhook_endpoints", ({ endpoint }) => endpoint, name)).toBe("not_found");
});

test("redeliver_webhook while the delivery is being pruned → waits, then not_found", async () => {
  expect(await codeWhileDeleting("webhook_deliveries", ({ delivery }) => delivery, "redeliver_webhook")).toBe(
    "not_found",
  );
});
