import { expect, onTestFinished, test } from "vitest";
import { sha256 } from "../../../supabase/functions/api/sha256.ts";
import { startApi } from "./fixture.ts";

// Real links and what they show: test/security/shared-films.test.ts.

test("300 guesses at once → four are looked up at a time, most get 429; a link that is known is answered meanwhile", async () => {
  const token = "t".repeat(43);
  const hash = await sha256(new TextEncoder().encode(token));
  const guessesMayEnd = Promise.withResolvers<void>();
  let [open, most] = [0, 0];
  const api = await startApi(async ({ body }) => {
    if (new TextDecoder().decode(body).includes(hash))
      return Response.json({ owner_id: crypto.randomUUID(), title: "The pier", shots: [], rate: null });
    most = Math.max(most, ++open);
    await guessesMayEnd.promise;
    open--;
    const refusal = { code: "KEYFR", message: "not_found", details: "This link does not work.", hint: null };
    return Response.json(refusal, { status: 400 });
  });
  onTestFinished(api.stop);
  const ask = async (one: string) => (await api.call(`/api/shared/${one}`, { headers: { authorization: "" } })).status;
  expect(await ask(token)).toBe(200);
  const guesses = Array.from({ length: 300 }, (_, at) => ask(String(at).padStart(43, "g")));
  await Promise.any(guesses); // the first 429
  expect(await ask(token)).toBe(200);
  guessesMayEnd.resolve();
  const statuses = await Promise.all(guesses);
  expect([most, statuses.filter((status) => status === 404).length]).toEqual([4, 68]);
  expect(statuses.filter((status) => status === 429)).toHaveLength(300 - 68);
});
