import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import type { Row } from "../support/database/predictions.ts";
import { addEndpoint, call, clearWebhooks, seedDeliveries, sendNext } from "../support/database/webhooks.ts";

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

const later = (hours: number) => new Date(Date.now() + hours * 3_600_000);
const ended = (status: "delivered" | "exhausted", columns: object = {}) => ({
  status,
  attempts: status === "exhausted" ? 10 : 1,
  completed_at: new Date(),
  next_attempt_at: new Date(0),
  ...columns,
});
const seed = async (columns: object = {}) => (await seedDeliveries(db.sql, endpoint, 1, columns))[0] ?? "";

describe("list_webhook_deliveries", () => {
  type Listed = Row & { id: string; created_at: string; attempt_log: Row[] };
  const list = async (args: Record<string, string | number | Date> = {}) =>
    (await call<{ deliveries: Listed[] }>(db, owner, "list_webhook_deliveries", { endpoint_id: endpoint, ...args }))
      .deliveries;

  test("→ newest first with their attempts, without internal columns", async () => {
    const first = await seed({ created_at: later(-2) });
    const second = await seed({ created_at: later(-1) });
    await sendNext(db.sql, { status_code: 500, response_excerpt: "Oops" });
    for (const _one of [first, second]) await sendNext(db.sql, { error: "timeout" }, later(1));
    const deliveries = await list();
    expect(deliveries.map(({ id }) => id)).toEqual([second, first]);
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({ status: "pending", attempts: 2, last_error: "timeout" });
      expect(delivery.attempt_log).toMatchObject([
        { attempt: 1, status_code: 500, error: "http_status", response_excerpt: "Oops", duration_ms: 12 },
        { attempt: 2, status_code: null, error: "timeout" },
      ]);
      expect(delivery).not.toHaveProperty("lease_token");
      expect(delivery).not.toHaveProperty("retries_from");
      expect(Object.keys(delivery.attempt_log[0] ?? {})).not.toEqual(expect.arrayContaining(["owner_id"]));
    }
  });

  test("page by page by the cursor → each once, also those of the same moment", async () => {
    const created_at = later(-1);
    await seedDeliveries(db.sql, endpoint, 13, { created_at });
    await seedDeliveries(db.sql, endpoint, 12, ended("delivered", { created_at }));
    await seedDeliveries(db.sql, endpoint, 5, ended("exhausted", { created_at }));
    await seedDeliveries(db.sql, await addEndpoint(db.sql, owner), 3, { created_at });
    const all = (await list({ max_rows: 100 })).map(({ id }) => id);
    const paged: string[] = [];
    for (let last: Listed | undefined; ; ) {
      const cursor = last ? { before_created_at: last.created_at, before_id: last.id } : {};
      const page = await list({ max_rows: 3, ...cursor });
      paged.push(...page.map(({ id }) => id));
      last = page.at(-1);
      if (page.length < 3) break;
    }
    expect(paged).toEqual(all);
    expect(new Set(paged).size).toBe(30);
  });

  test("of one status → only those", async () => {
    const [failed] = [await seed(ended("exhausted")), await seed(ended("delivered")), await seed()];
    expect((await list({ status: "exhausted" })).map(({ id }) => id)).toEqual([failed]);
  });

  test("of one event type → only those, of every status or of one", async () => {
    const [failed, sent] = [
      await seed(ended("exhausted", { event_type: "webhook.test" })),
      await seed({ event_type: "webhook.test" }),
    ];
    await seed(ended("exhausted"));
    const ids = async (args: Record<string, string>) => (await list(args)).map(({ id }) => id).toSorted();
    expect(await ids({ event_type: "webhook.test" })).toEqual([failed, sent].toSorted());
    expect(await ids({ event_type: "webhook.test", status: "exhausted" })).toEqual([failed]);
    expect(await ids({ event_type: "generation.failed" })).toEqual([]);
  });

  test("a page of 100 and the row that shows another page → 101 rows", async () => {
    await seedDeliveries(db.sql, endpoint, 102);
    expect((await list({ max_rows: 101 })).length).toBe(101);
    expect((await list()).length).toBe(20);
  });
});
