import { expect, test } from "vitest";
import { openDatabase } from "../support/api/database.ts";
import { useUser } from "../support/api/user.ts";
import { register, revealSecret } from "../support/api/webhooks.ts";

const sql = openDatabase();
const user = useUser();

/** What signs at a time, newest first. */
async function signing(id: string, hoursFromNow = 0): Promise<string[]> {
  const [row] = await sql<{ secrets: string[] }[]>`
    select keyframe_private.webhook_secrets_of(${id}, now() + make_interval(hours => ${hoursFromNow})) as secrets`;
  return row?.secrets ?? [];
}

test("GET secret → the one of POST, each time, never to be cached", async () => {
  const { webhookId, secret } = await register(user);
  expect(await revealSecret(user, webhookId)).toBe(secret);
  const { headers, data } = await user.call(`/api/webhooks/${webhookId}/secret`);
  expect([headers.get("cache-control"), data]).toEqual(["no-store", { secret }]);
});

test("rotate → a new secret, which GET returns from then on; the old one signs on for 24 hours", async () => {
  const { webhookId, secret } = await register(user);
  const { headers } = await user.post(`/api/webhooks/${webhookId}/secret/rotate`, {});
  const next = await revealSecret(user, webhookId);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(next).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(next).not.toBe(secret);
  expect(await signing(webhookId)).toEqual([next, secret]);
  expect(await signing(webhookId, 23)).toEqual([next, secret]);
  expect(await signing(webhookId, 25)).toEqual([next]);
});

test("rotate with overlapHours 0, as after a leak → every old secret is gone at once; without a body → 24 hours", async () => {
  const { webhookId, secret } = await register(user);
  const path = `/api/webhooks/${webhookId}/secret/rotate`;
  await user.call(path, { method: "POST" });
  expect(await signing(webhookId, 23)).toContain(secret);
  await user.post(path, { overlapHours: 0 });
  expect(await signing(webhookId)).toEqual([await revealSecret(user, webhookId)]);
});
