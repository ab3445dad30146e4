import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { failedBody, startApi } from "./api-fixture.ts";
import { deliveryOnWire, deliveryRow, WEBHOOK } from "./api-webhooks-rows.ts";

let rows: unknown[] = [];
const api = await startApi(() => Response.json({ deliveries: rows, rate: null }));
afterAll(api.stop);
beforeEach(() => {
  api.seen.length = 0;
});

const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    deliveryRow({ id: `00000000-0000-4000-8000-${String(at).padStart(12, "0")}` }),
  );
const list = (query = "") => api.call(`/api/webhooks/${WEBHOOK}/deliveries${query}`);
type Page = { deliveries: { deliveryId: string }[]; nextCursor: string | null };
// The shape is what these tests are about: each looks into the parts it names.
const pageOf = async (response: Response) => (await response.json()).data as Page;
const argsSent = (): unknown => JSON.parse(new TextDecoder().decode(api.seen.at(-1)?.body));

test("a delivery → on the wire with its attempts, and nothing of the row beside", async () => {
  rows = [deliveryRow()];
  expect(await pageOf(await list())).toEqual({ deliveries: [deliveryOnWire], nextCursor: null });
});

test.each(["delivered", "exhausted"])("one that is %s → no next attempt", async (status) => {
  rows = [deliveryRow({ status, completed_at: "2026-11-21T12:00:01+00:00" })];
  const { deliveries } = await pageOf(await list());
  expect(deliveries).toEqual([
    { ...deliveryOnWire, status, nextAttemptAt: null, completedAt: "2026-11-21T12:00:01.000Z" },
  ]);
});

test("the database is asked for one more than the page holds, with the status that is wanted", async () => {
  rows = [];
  await list();
  expect(argsSent()).toEqual({ endpoint_id: WEBHOOK, max_rows: 21 });
  await list("?limit=100&status=exhausted");
  expect(argsSent()).toEqual({ endpoint_id: WEBHOOK, max_rows: 101, status: "exhausted" });
});

test("there is one more → it is not shown, and nextCursor goes on after the last that is, to the microsecond", async () => {
  rows = rowsOf(3);
  const { deliveries, nextCursor } = await pageOf(await list("?limit=2"));
  expect(deliveries.map(({ deliveryId }) => deliveryId.slice(-1))).toEqual(["0", "1"]);
  expect(nextCursor).toMatch(/^[A-Za-z0-9_-]+$/);
  await list(`?limit=2&cursor=${nextCursor}`);
  expect(argsSent()).toEqual({
    endpoint_id: WEBHOOK,
    max_rows: 3,
    before_created_at: "2026-11-21T12:00:00.123456+00:00",
    before_id: "00000000-0000-4000-8000-000000000001",
  });
});

test("exactly a page, or nothing → nextCursor null", async () => {
  for (const count of [2, 0]) {
    rows = rowsOf(count);
    expect((await pageOf(await list("?limit=2"))).nextCursor).toBeNull();
  }
});

describe("a cursor we cannot have given → 400 that names cursor, before the database is asked", () => {
  const cursorOf = (text: string) => btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const time = "2026-11-21T12:00:00.123456+00:00";
  test.each([
    "",
    "x",
    "null",
    "a".repeat(201),
    "%F0%9F%8E%AC",
    btoa(`${time} ${WEBHOOK}`).replace(/=*$/, "="),
    cursorOf(time),
    cursorOf(`${time} ${WEBHOOK} x`),
    cursorOf(`${time} 7`),
    cursorOf(`infinity ${WEBHOOK}`),
    cursorOf(`2026-02-30T12:00:00Z ${WEBHOOK}`),
    cursorOf(`' or 1=1 -- ${WEBHOOK}`),
    cursorOf(JSON.stringify([time, WEBHOOK])),
  ])("%j", async (cursor) => {
    const response = await list(`?cursor=${cursor}`);
    expect([response.status, (await failedBody(response)).error.details?.map(({ path }) => path)]).toEqual([
      400,
      ["cursor"],
    ]);
    expect(api.seen).toEqual([]);
  });
});

test.each([
  ["limit=0", "limit"],
  ["limit=101", "limit"],
  ["limit=x", "limit"],
  ["limit=", "limit"],
  ["status=failed", "status"],
  ["page=2", "page"],
  ["limit=2&limit=3", "limit"],
])("?%s → 400 that names %s", async (query, field) => {
  const { error } = await failedBody(await list(`?${query}`));
  expect(error.details?.map(({ path }) => path)).toEqual([field]);
  expect(api.seen).toEqual([]);
});
