import { expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import type { Row } from "../support/database/predictions.ts";
import { addEndpoint, call, seedDeliveries, sendNext } from "../support/database/webhooks.ts";

const db = useDatabase();

// Pages, filters and what a user reads of a delivery are in test/api/webhooks-deliveries.test.ts.
test("list_webhook_deliveries past the API → at most a page of 100 and one more, of one status and type at once, without internal columns", async () => {
  const owner = await db.addUser();
  const endpoint = await addEndpoint(db.sql, owner, { max_in_flight: 100 });
  const list = async (args: Record<string, string | number>) => {
    const given = { endpoint_id: endpoint, ...args };
    return (await call<{ deliveries: (Row & { attempt_log: Row[] })[] }>(db, owner, "list_webhook_deliveries", given))
      .deliveries;
  };
  await seedDeliveries(db.sql, endpoint, 102);
  for (const max_rows of [101, 1_000]) expect(await list({ max_rows })).toHaveLength(101);
  await sendNext(db.sql, { status_code: 200 });
  const [sent, ...others] = await list({ max_rows: 1, status: "delivered", event_type: "project.created" });
  expect([sent?.status, others]).toEqual(["delivered", []]);
  expect(await list({ status: "exhausted", event_type: "project.created" })).toEqual([]);
  expect(sent).not.toHaveProperty("retries_from");
  const columns = ["attempt", "started_at", "duration_ms", "status_code", "error", "response_excerpt"];
  expect(Object.keys(sent?.attempt_log[0] ?? {}).toSorted()).toEqual(columns.toSorted());
});
