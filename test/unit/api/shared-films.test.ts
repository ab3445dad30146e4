import { expect, onTestFinished, test } from "vitest";
import { sha256 } from "../../../shared/api/sha256.ts";
import { until } from "../../support/until.ts";
import { NOW, startApi } from "./fixture.ts";

// Real links and what they show: test/security/shared-films.test.ts.

test("300 guessed links at once → four lookups at a time, most get 429; a known link is answered meanwhile", async () => {
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

test("all links of an owner opened at once → four calls at a time, other owners' go on; revoked ones count as guesses", async () => {
  const owner = crypto.randomUUID();
  const tokens = Array.from({ length: 40 }, (_, at) => String(at).padStart(43, "l"));
  const hashes = await Promise.all(tokens.map((token) => sha256(new TextEncoder().encode(token))));
  const [kept, others] = ["k".repeat(43), "o".repeat(43)];
  const keptHash = await sha256(new TextEncoder().encode(kept));
  let [open, most, areRevoked] = [0, 0, false];
  let mayEnd = Promise.resolve();
  const api = await startApi(async ({ body }) => {
    const asked = new TextDecoder().decode(body);
    const isOfMany = hashes.some((hash) => asked.includes(hash));
    most = Math.max(most, ++open);
    if (isOfMany) await mayEnd;
    open--;
    const refusal = { code: "KEYFR", message: "not_found", details: "This link does not work.", hint: null };
    if (isOfMany && areRevoked) return Response.json(refusal, { status: 400 });
    const owner_id = isOfMany || asked.includes(keptHash) ? owner : crypto.randomUUID();
    return Response.json({ owner_id, title: "The pier", shots: [], rate: null });
  });
  onTestFinished(api.stop);
  const ask = async (one: string) => (await api.call(`/api/shared/${one}`, { headers: { authorization: "" } })).status;
  const askAll = async (status: number, meanwhile: string[]) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    [mayEnd, most] = [promise, 0];
    const asked = tokens.map(ask);
    await until("four calls are open", () => open >= 4);
    for (const one of meanwhile) expect(await ask(one)).toBe(200);
    resolve();
    expect(new Set(await Promise.all(asked))).toEqual(new Set([status]));
    expect(most).toBe(5);
  };
  for (const token of [...tokens, kept, others]) expect(await ask(token)).toBe(200);
  await askAll(200, [others]);
  areRevoked = true;
  await askAll(404, [others]);
  await askAll(404, [others, kept]);
});

test("a link's rate is used up → its visitors get 429; other links, new ones and its owner's, are answered", async () => {
  const owner = crypto.randomUUID();
  const [busy, known, unknown] = ["b".repeat(43), "k".repeat(43), "u".repeat(43)];
  const busyHash = await sha256(busy);
  let isUsedUp = false;
  const clock = { now: () => NOW, elapsed: () => 0, sleep: () => Promise.resolve() };
  const visit = ({ body }: { body: Uint8Array }) => {
    const hint = JSON.stringify({ policy: "shared", limit: 60, window_seconds: 60, wait_seconds: 7 });
    const refusal = { code: "KEYFR", message: "rate_limited", details: "Too many visits.", hint };
    if (isUsedUp && new TextDecoder().decode(body).includes(busyHash)) return Response.json(refusal, { status: 400 });
    return Response.json({ owner_id: owner, title: "The pier", shots: [], rate: null });
  };
  const api = await startApi(visit, { clock });
  onTestFinished(api.stop);
  const ask = async (one: string) => (await api.call(`/api/shared/${one}`, { headers: { authorization: "" } })).status;
  expect([await ask(busy), await ask(known)]).toEqual([200, 200]);
  isUsedUp = true;
  expect([await ask(busy), await ask(known), await ask(unknown)]).toEqual([429, 200, 200]);
});
