import { beforeEach, describe, expect, test } from "vitest";
import { usage } from "../../shared/contract/costs.ts";
import { webhookEvent } from "../../shared/contract/events.ts";
import { modelList } from "../../shared/contract/controls.ts";
import { prediction } from "../../shared/contract/predictions.ts";
import { openDatabase } from "../support/api/database.ts";
import { dataOf, type Reply } from "../support/api/envelope.ts";
import { signUp, type User } from "../support/api/user.ts";

// Costs and budgets of one user over HTTP. A first frame by the default model costs 67,000 micro-dollars. What is exact under load, and
// the budgets of the service, which all tests here share: test/db/costs/costs.test.ts.

const FRAME = 67_000;
const sql = openDatabase();
let user: User;
let projectId: string;
beforeEach(async () => {
  user = await signUp();
  projectId = await user.createProject();
});

const budget = (month: number | null, day: number | null = null) =>
  sql`
    insert into keyframe_private.owner_budgets (owner_id, day_micros, month_micros) values (${user.id}, ${day}, ${month})
    on conflict (owner_id) do update set day_micros = excluded.day_micros, month_micros = excluded.month_micros`;
const START = "/api/projects/generate/first-frame";
const startFrame = () => user.post(START, { projectId });
const startedBy = (reply: Reply) => prediction.parse(dataOf(reply, 202));
const readUsage = async (query = "", by = user) => usage.parse(dataOf(await by.call(`/api/usage${query}`), 200));
const cost = (state: string, amountMicros: number | null) => ({
  ...{ state, amountMicros, atMostMicros: FRAME, currency: "USD" },
});
const eventsOf = async (type: string) => {
  const rows = await sql`select payload from keyframe.webhook_events where owner_id = ${user.id} and type = ${type}`;
  return rows.map(({ payload }) => webhookEvent.parse(payload));
};

test("a first frame → its cost is held from the start, and settled at its end, in the event and in the usage", async () => {
  const started = startedBy(await startFrame());
  expect(started.cost).toEqual(cost("held", null));
  const ended = await user.finish(started);
  expect(ended).toMatchObject({ status: "succeeded", progress: 1, cost: cost("settled", FRAME) });
  expect(await eventsOf("generation.succeeded")).toMatchObject([{ data: { cost: cost("settled", FRAME) } }]);
  const today = new Date(ended.createdAt).toISOString().slice(0, 10);
  const sums = { predictions: 1, settledMicros: FRAME, heldMicros: 0, unknownMicros: 0 };
  expect(await readUsage()).toEqual({
    ...{ from: `${today.slice(0, 8)}01`, to: expect.any(String), currency: "USD", groupBy: "day" },
    ...{ groups: [{ key: today, ...sums }], budgets: [], balance: null },
  });
  for (const [groupBy, key] of [
    ["model", ended.model],
    ["step", "first-frame"],
    ["project", projectId],
  ]) {
    expect((await readUsage(`?from=${today}&to=${today}&groupBy=${groupBy}`)).groups).toEqual([{ key, ...sums }]);
  }
  expect((await readUsage("?from=2020-01-01&to=2020-01-31")).groups).toEqual([]);
});

describe("over the budget", () => {
  test("a start over the budget → 402 budget_exceeded with what is left, and the usage shows the budget", async () => {
    await budget(1.5 * FRAME);
    startedBy(await startFrame());
    const { status, error } = await startFrame();
    expect(status).toBe(402);
    expect(error).toMatchObject({
      code: "budget_exceeded",
      message: expect.stringMatching(/your budget for this month/),
    });
    expect(error?.budget).toEqual({
      ...{ scope: "owner", period: "month", limitMicros: 1.5 * FRAME, estimateMicros: FRAME },
      ...{ heldMicros: expect.any(Number), settledMicros: expect.any(Number), availableMicros: FRAME / 2 },
      resetsAt: expect.stringMatching(/-01T00:00:00\.000Z$/),
    });
    expect((await readUsage()).budgets).toMatchObject([
      { period: "month", limitMicros: 1.5 * FRAME, availableMicros: FRAME / 2 },
    ]);
  });

  test("an estimate over the budget → what is left, and that the start would be refused", async () => {
    const estimate = async () => dataOf(await user.post(`${START}/estimate`, { projectId }), 200);
    expect(await estimate()).toMatchObject({ availableMicros: null, withinBudget: true });
    await budget(10 * FRAME, FRAME - 1);
    expect(await estimate()).toMatchObject({ estimateMicros: FRAME, availableMicros: FRAME - 1, withinBudget: false });
    await budget(null, FRAME);
    expect(await estimate()).toMatchObject({ availableMicros: FRAME, withinBudget: true });
  });
});

test.each(["from=2026-03-02&to=2026-03-01", "from=2024-01-01&to=2026-01-01"])(
  "GET /api/usage?%s → 400 with the rule",
  async (query) => {
    const { status, error } = await user.call(`/api/usage?${query}`);
    expect([status, error?.code]).toEqual([400, "invalid_request"]);
    expect(error?.message).toMatch(/at most 400 days/);
  },
);

test("the event in docs/receive-webhooks.md → costs what the prices of its model say", async () => {
  const page = await Deno.readTextFile("docs/receive-webhooks.md");
  const [event] = [...page.matchAll(/^```json\n(.*?)^```$/gms)].flatMap(([, block = ""]) => {
    const shown = webhookEvent.parse(JSON.parse(block));
    return shown.type === "generation.succeeded" ? [shown.data] : [];
  });
  const { steps } = modelList.parse(dataOf(await user.call("/api/models"), 200));
  const model = steps.flatMap(({ models }) => models).find((one) => one.model === event?.model);
  const price = model?.prices.find(({ appliesTo }) => appliesTo.resolution === `${event?.output.height}p`);
  expect(price?.metric).toBe("output_second");
  expect(event?.cost?.amountMicros).toBe((price?.priceUsd ?? 0) * 1_000_000 * (event?.output.durationSeconds ?? 0));
});
