import { beforeEach, describe, expect, inject, test } from "vitest";
import { createKeyframeClient } from "../../client/index.ts";
import { credit } from "../../shared/contract/costs.ts";
import { webhookEvent } from "../../shared/contract/events.ts";
import { callApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { dataOf } from "../support/api/envelope.ts";
import { signUp, type User } from "../support/api/user.ts";

// A prepaid balance over HTTP. A first frame by the default model costs 67,000 micro-dollars. What is exact under load:
// test/db/costs/balances.test.ts.

const FRAME = 67_000;
const sql = openDatabase();
let user: User;
beforeEach(async () => {
  user = await signUp();
});
const { secretKey, publishableKey, url } = inject("stack");
const asServer = (id = user.id) => ({ apikey: secretKey, "keyframe-user": id });
const add = (json: object, headers: Record<string, string> = asServer()) => callApi("/api/credits", { json, headers });
const purchase = (frames: number, key = "payment-1") => ({ key, kind: "purchase", amountMicros: frames * FRAME });

test("a repeated purchase → added once; a start beyond the balance → 402, and usage, estimate and events show the balance", async () => {
  const projectId = await user.createProject();
  const START = "/api/projects/generate/first-frame";
  const first = await add({ ...purchase(1.5), note: "ten dollars" });
  const balance = { availableMicros: 1.5 * FRAME, heldMicros: 0 };
  expect(credit.parse(dataOf(first, 201))).toMatchObject({ ...purchase(1.5), note: "ten dollars", balance });
  const again = await add(purchase(1.5));
  expect([again.status, again.headers.get("idempotency-replayed"), again.data]).toEqual([201, "true", first.data]);
  const other = await add(purchase(2));
  expect([other.status, other.error?.code]).toEqual([422, "idempotency_mismatch"]);

  dataOf(await user.post(START, { projectId }), 202);
  const { status, error } = await user.post(START, { projectId });
  expect([status, error?.code, error?.balance]).toEqual([
    402,
    "balance_exhausted",
    { availableMicros: FRAME / 2, estimateMicros: FRAME },
  ]);
  expect(dataOf(await user.call("/api/usage"), 200)).toMatchObject({ balance: { availableMicros: FRAME / 2 } });
  expect(dataOf(await user.post(`${START}/estimate`, { projectId }), 200)).toMatchObject({
    balance: { availableMicros: FRAME / 2 },
    withinBudget: false,
  });
  const events = await sql`
    select payload from keyframe.webhook_events where owner_id = ${user.id} and type like 'balance.%' order by created_at`;
  expect(events.map(({ payload }) => webhookEvent.parse(payload).type)).toEqual(["balance.low", "balance.exhausted"]);

  const client = createKeyframeClient({ url, secretKey, userId: user.id });
  const refund = { key: "refund-1", kind: "refund", amountMicros: -FRAME } as const;
  expect((await client.addCredit(refund)).balance.availableMicros).toBe(-FRAME / 2);
  const session = createKeyframeClient({ url, getToken: () => Promise.resolve(user.token) });
  await expect(session.generate("first-frame", { projectId })).rejects.toMatchObject({
    code: "balance_exhausted",
    balance: { availableMicros: -FRAME / 2, estimateMicros: FRAME },
  });
});

describe("credit of", () => {
  test.each<[what: string, headers: () => Record<string, string>, expected: [number, string]]>([
    ["a session", () => ({ authorization: `Bearer ${user.token}` }), [401, "unauthorized"]],
    [
      "a session that names its user",
      () => ({ authorization: `Bearer ${user.token}`, "keyframe-user": user.id }),
      [403, "forbidden"],
    ],
    ["the publishable key", () => ({ ...asServer(), apikey: publishableKey }), [403, "forbidden"]],
    ["the key beside a session", () => ({ ...asServer(), authorization: `Bearer ${user.token}` }), [403, "forbidden"]],
    ["the secret key without a user", () => ({ apikey: secretKey }), [400, "invalid_request"]],
    ["the secret key for an unknown user", () => asServer(crypto.randomUUID()), [404, "user_not_found"]],
  ])("credit with %s → refused, and nothing is added", async (_what, headers, expected) => {
    const { status, error } = await add(purchase(1), headers());
    expect([status, error?.code]).toEqual(expected);
    expect(await sql`select from keyframe_private.credits where owner_id = ${user.id}`).toHaveLength(0);
  });

  test.each<[object, string]>([
    [{ kind: "refund" }, "amountMicros"],
    [{ kind: "adjustment", amountMicros: 0 }, "amountMicros"],
    [{ amountMicros: 0.5 }, "amountMicros"],
    [{ amountMicros: 1_000_000_000_001 }, "amountMicros"],
    [{ kind: "gift" }, "kind"],
    [{ key: "two words" }, "key"],
    [{ key: "opening", kind: "adjustment" }, "key"],
    [{ note: "x".repeat(501) }, "note"],
  ])("credit from a server with %j → 400 that names %s", async (change, path) => {
    const { status, error } = await add({ ...purchase(1), ...change });
    expect([status, error?.details?.map((one) => one.path)]).toEqual([400, [path]]);
  });

  test("credit of a banned user is taken back, as after a dispute → accepted", async () => {
    await add(purchase(1));
    await sql`update auth.users set banned_until = 'infinity' where id = ${user.id}`;
    const lost = await add({ key: "dispute-1", kind: "refund", amountMicros: -FRAME });
    expect(dataOf(lost, 201)).toMatchObject({ balance: { availableMicros: 0 } });
  });
});
