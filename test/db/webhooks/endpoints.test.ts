import type postgres from "postgres";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import type { Row } from "../../support/database/predictions.ts";
import { codeOf, refusalOf } from "../../support/database/refusal.ts";
import { whileOpen } from "../../support/database/waiting.ts";
import {
  addEndpoint,
  call,
  clearWebhooks,
  readEndpoint,
  seedDeliveries,
  sendNext,
} from "../../support/database/webhooks.ts";

// What the API refuses before it asks the database, and what cannot be asked through it. The rest is in test/api/webhooks-*.test.ts.

const db = useDatabase();
let owner: string;
beforeAll(async () => {
  owner = await db.addUser();
});
beforeEach(() => clearWebhooks(db.sql));

const URL = "https://receiver.example/hook";
type Args = Parameters<typeof call>[3];
const create = (args: Args) => call(db, owner, "create_webhook_endpoint", { url: URL, ...args });
const update = async (endpoint_id: string, args: Args) =>
  (await call<{ endpoint: Row }>(db, owner, "update_webhook_endpoint", { endpoint_id, ...args })).endpoint;

test("max_in_flight of 1 to 8 → accepted; other numbers → refused; other changes keep a number that an administrator set", async () => {
  const set = { max_in_flight: 100, event_types: ["generation.failed"] };
  const id = await addEndpoint(db.sql, owner, set);
  expect(await update(id, { description: "CRM" })).toMatchObject({ ...set, url: URL });
  expect(await update(id, { max_in_flight: 1 })).toMatchObject({ max_in_flight: 1, description: "CRM" });
  for (const max_in_flight of [0, 9, -1]) {
    expect(await codeOf(update(id, { max_in_flight }))).toBe("invalid_request");
    expect(await codeOf(create({ max_in_flight }))).toBe("invalid_request");
  }
  expect(await readEndpoint(db.sql, id)).toMatchObject({ max_in_flight: 1 });
});

test("an owner's 21st endpoint → refused; a 21st service-wide endpoint → accepted", async () => {
  for (const of of [owner, null]) for (let count = 0; count < 20; count++) await addEndpoint(db.sql, of);
  await addEndpoint(db.sql, null);
  expect(await codeOf(addEndpoint(db.sql, owner))).toBe("invalid_request");
});

test("an endpoint is disabled a second time → it keeps the reason and time of the first", async () => {
  const id = await addEndpoint(db.sql, owner);
  const { disabled_at } = await update(id, { enabled: false });
  expect(disabled_at).toEqual(expect.any(String));
  const again = { enabled: false, disabled_at, disabled_reason: "by_owner" };
  expect(await update(id, { enabled: false })).toMatchObject(again);
});

test("an administrator gives an endpoint to another owner or nobody → refused; sets the same owner → accepted", async () => {
  const id = await addEndpoint(db.sql, owner);
  for (const other of [await db.addUser(), null])
    expect(
      await refusalOf(db.sql`update keyframe.webhook_endpoints set owner_id = ${other} where id = ${id}`),
    ).toMatchObject({ constraint: "endpoint_keeps_its_owner" });
  await db.sql`update keyframe.webhook_endpoints set owner_id = ${owner}, description = 'CRM' where id = ${id}`;
  expect(await readEndpoint(db.sql, id)).toMatchObject({ owner_id: owner, description: "CRM" });
});

test("an owner's 21st endpoint while the 20th is not committed → waits for it, and is refused", async () => {
  for (let i = 0; i < 19; i++) await addEndpoint(db.sql, owner);
  const add = (sql: postgres.Sql | postgres.TransactionSql) => addEndpoint(sql, owner);
  expect(await whileOpen(db.sql, add, () => codeOf(add(db.sql)))).toBe("invalid_request");
});

test("30 endpoints of an owner in one insert → refused as a whole", async () => {
  const insert = db.sql`insert into keyframe.webhook_endpoints (owner_id, url) select ${owner}, ${URL} from generate_series(1, 30)`;
  expect(await codeOf(insert)).toBe("invalid_request");
});

test("a session token without a user → can manage no endpoint, not even a service-wide one", async () => {
  const endpoint = await addEndpoint(db.sql, null);
  const nobody = (statement: string) => db.as({ role: "authenticated" }, (sql) => sql.unsafe(statement));
  expect(await codeOf(nobody(`select keyframe.reveal_webhook_secret('${endpoint}')`))).toBe("not_found");
  const [row] = await nobody("select keyframe.list_webhook_endpoints() -> 'endpoints' as endpoints");
  expect(row?.endpoints).toEqual([]);
});

test("list_webhook_deliveries by SQL → at most 101, filtered by status and type, without internal columns", async () => {
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
