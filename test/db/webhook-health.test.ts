import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { addEndpoint, call, clearWebhooks, seedDeliveries, sendNext } from "../support/database/webhooks.ts";

type Hour = { hour: string; delivered: number; retrying: number; exhausted: number };
type Health = {
  since: string;
  endpoints: {
    endpoint_id: string;
    last: { at: string; status_code: number | null; error: string | null } | null;
    hours: Hour[];
  }[];
};

const HOUR_MS = 3_600_000;
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

const ask = (caller: string, args: { endpoint_id?: string } = {}) => call<Health>(db, caller, "webhook_health", args);
const read = async () => (await ask(owner)).endpoints.find(({ endpoint_id }) => endpoint_id === endpoint);
const hoursAgo = (hours: number) => new Date(Date.now() - hours * HOUR_MS);
const hourOf = (at: Date) => Math.floor(at.getTime() / HOUR_MS) * HOUR_MS;
const tried = (at: Date, status: "pending" | "delivered" | "exhausted", last_error: string | null) => ({
  status,
  last_attempt_at: at,
  last_error,
  attempts: 1,
  completed_at: status === "pending" ? null : at,
});
const delivered = (at: Date) => tried(at, "delivered", null);

describe("webhook_health", () => {
  test("an endpoint that was sent nothing → no hours and no last attempt", async () => {
    await seedDeliveries(db.sql, endpoint, 2);
    expect(await read()).toEqual({ endpoint_id: endpoint, last: null, hours: [] });
  });

  test("deliveries as the sender records them → each once, as what became of it, with the last attempt", async () => {
    await seedDeliveries(db.sql, endpoint, 2);
    await sendNext(db.sql, { status_code: 204 });
    await seedDeliveries(db.sql, endpoint, 3);
    await sendNext(db.sql, { error: "timeout" });
    const health = await read();
    const sum = (of: "delivered" | "retrying" | "exhausted") =>
      health?.hours.reduce((total, hour) => total + hour[of], 0);
    expect([sum("delivered"), sum("retrying"), sum("exhausted")]).toEqual([2, 3, 0]);
    expect(health?.last).toMatchObject({ status_code: null, error: "timeout" });
  });

  test("many hours → in order; what was last tried before the first hour of the window is left out", async () => {
    const { since } = await ask(owner);
    const first = new Date(since);
    expect(first.getTime()).toBe(hourOf(hoursAgo(23)));
    await seedDeliveries(db.sql, endpoint, 1, delivered(new Date(first.getTime() - 1)));
    await seedDeliveries(db.sql, endpoint, 2, delivered(hoursAgo(1)));
    await seedDeliveries(db.sql, endpoint, 3, delivered(first));
    const hours = (await read())?.hours.map((hour) => [Date.parse(hour.hour), hour.delivered]);
    expect(hours).toEqual([
      [first.getTime(), 3],
      [hourOf(hoursAgo(1)), 2],
    ]);
  });

  test("whatever zone the session is in → the hours are those of UTC", async () => {
    const at = hoursAgo(2);
    await seedDeliveries(db.sql, endpoint, 1, delivered(at));
    const answer = await db.as({ role: "authenticated", sub: owner }, async (sql) => {
      await sql`set local timezone = 'Asia/Kathmandu'`; // UTC+5:45
      const [row] = await sql<{ answer: Health }[]>`select keyframe.webhook_health() as answer`;
      return row?.answer;
    });
    expect(answer?.endpoints.flatMap(({ hours }) => hours.map(({ hour }) => Date.parse(hour)))).toEqual([hourOf(at)]);
    expect(Date.parse(answer?.since ?? "")).toBe(hourOf(hoursAgo(23)));
  });
});

describe("whose health it returns", () => {
  test("all endpoints of the caller, newest first; named one → that one alone", async () => {
    const newer = await addEndpoint(db.sql, owner, { created_at: new Date(Date.now() + 1_000) });
    const ids = async (args = {}) => (await ask(owner, args)).endpoints.map(({ endpoint_id }) => endpoint_id);
    expect(await ids()).toEqual([newer, endpoint]);
    expect(await ids({ endpoint_id: endpoint })).toEqual([endpoint]);
  });

  test("another user's, and a service-wide one → nothing, named or not", async () => {
    const other = await db.addUser();
    const wide = await addEndpoint(db.sql, null);
    await seedDeliveries(db.sql, wide, 1, delivered(hoursAgo(1)));
    expect((await ask(other)).endpoints).toEqual([]);
    for (const endpoint_id of [endpoint, wide]) expect((await ask(other, { endpoint_id })).endpoints).toEqual([]);
  });
});
