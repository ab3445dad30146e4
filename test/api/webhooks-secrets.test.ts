import { expect, test } from "vitest";
import { useUser } from "../support/api/user.ts";
import { register, revealSecret } from "../support/api/webhooks.ts";

const user = useUser();

test("GET secret → the one of POST, each time, never to be cached", async () => {
  const { webhookId, secret } = await register(user);
  expect(await revealSecret(user, webhookId)).toBe(secret);
  const { headers, data } = await user.call(`/api/webhooks/${webhookId}/secret`);
  expect([headers.get("cache-control"), data]).toEqual(["no-store", { secret }]);
});

// How long the old one signs: test/db/webhooks/secrets.test.ts.
test("rotate → a new secret, which GET returns from then on", async () => {
  const { webhookId, secret } = await register(user);
  const { headers } = await user.post(`/api/webhooks/${webhookId}/secret/rotate`, {});
  const next = await revealSecret(user, webhookId);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(next).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(next).not.toBe(secret);
});
