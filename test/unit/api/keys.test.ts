import { expect, onTestFinished, test } from "vitest";
import { sha256 } from "../../../shared/api/sha256.ts";
import { withChecksum } from "../../support/api/keys.ts";
import { failedBody, OWNER, SECRET_KEY, startApi } from "./fixture.ts";

// How the function looks keys up. Real keys and what they open: test/security/keys.test.ts.

const keyOf = (number: number) => withChecksum(`kf_${String(number).padStart(64, "0")}`);

/** A platform that knows some keys; `wait` holds back the look at every other. */
async function startWith(known: string[], wait: () => Promise<void> = () => Promise.resolve()) {
  let elapsed = 0;
  const looks = { open: 0, most: 0, all: 0 };
  const hashes = await Promise.all(known.map((key) => sha256(new TextEncoder().encode(key))));
  const ended = new Map<string, "key_ended" | "user_not_found">();
  const refuse = (message: string) =>
    Response.json({ code: "KEYFR", message, details: "This key is not valid.", hint: "" }, { status: 400 });
  const clock = { now: () => new Date(), elapsed: () => elapsed, sleep: () => Promise.resolve() };
  const api = await startApi(
    async ({ path, body }) => {
      if (!path.endsWith("/verify_key")) return Response.json({ projects: [], next_cursor: null, rate: null });
      looks.all += 1;
      const asked = new TextDecoder().decode(body);
      const at = hashes.findIndex((hash) => asked.includes(hash));
      const end = ended.get(known[at] ?? "");
      if (end !== undefined) return refuse(end);
      if (at >= 0) return Response.json({ owner_id: OWNER, rate: null });
      looks.most = Math.max(looks.most, ++looks.open);
      await wait();
      looks.open -= 1;
      return refuse("unauthorized");
    },
    { clock },
  );
  onTestFinished(api.stop);
  const send = (key: string, from = "1.1.1.1") =>
    api.call("/api/projects", { headers: { authorization: `Bearer ${key}`, "x-forwarded-for": from } });
  const ask = async (key: string, from?: string) => (await send(key, from)).status;
  return { api, send, ask, looks, ended, pass: (ms: number) => (elapsed += ms) };
}

test("a key is used for over a minute → looked up once, then once more; each database call names the key", async () => {
  const key = await keyOf(1);
  const { api, ask, looks, pass } = await startWith([key]);
  for (let time = 0; time < 5; time++) expect(await ask(key)).toBe(200);
  expect(looks.all).toBe(1);
  pass(60_001);
  expect([await ask(key), looks.all]).toEqual([200, 2]);
  const last = api.seen.at(-1);
  expect([last?.path, JSON.parse(new TextDecoder().decode(last?.body))]).toEqual([
    "/rest/v1/rpc/act_as",
    {
      user_id: OWNER,
      function_name: "list_projects",
      args: { max_rows: 21, with_predictions: false },
      key_id: key.slice(0, 19),
    },
  ]);
  expect(last?.headers.get("authorization")).toBe(`Bearer ${SECRET_KEY}`);
  for (const { headers, body } of api.seen) {
    const sent = JSON.stringify([...headers]) + new TextDecoder().decode(body);
    expect(sent).not.toContain(key.slice(20));
  }
});

test("20 wrong keys of one address in a minute → no more lookups; another address, and known keys, go on", async () => {
  const [known, other] = [await keyOf(1), await keyOf(2)];
  const { ask, send, looks, pass } = await startWith([known, other]);
  expect(await ask(known)).toBe(200);
  for (let guess = 0; guess < 20; guess++) expect(await ask(await keyOf(100 + guess))).toBe(401);
  const before = looks.all;
  const refused = await send(await keyOf(200));
  expect([refused.status, refused.headers.get("retry-after"), looks.all]).toEqual([429, "60", before]);
  expect((await failedBody(refused)).error.code).toBe("rate_limited");
  expect([await ask(other), await ask(known), await ask(other, "2.2.2.2")]).toEqual([429, 200, 200]);
  pass(60_001);
  expect(await ask(await keyOf(201))).toBe(401);
});

test("300 guesses at once from different addresses → four lookups at a time, most get 429; a known key goes on", async () => {
  const known = await keyOf(1);
  const mayEnd = Promise.withResolvers<void>();
  const { ask, looks, pass } = await startWith([known], () => mayEnd.promise);
  expect(await ask(known)).toBe(200);
  const keys = await Promise.all(Array.from({ length: 300 }, (_, at) => keyOf(100 + at)));
  const refused = Promise.withResolvers<void>();
  let refusals = 0;
  const guesses = keys.map(async (key, at) => {
    const status = await ask(key, `1.1.1.${at}`);
    if (status === 429 && ++refusals === 300 - 68) refused.resolve();
    return status;
  });
  await refused.promise; // the others wait
  pass(60_001); // it is looked up again, and does not wait for the guesses
  expect(await ask(known)).toBe(200);
  mayEnd.resolve();
  const statuses = await Promise.all(guesses);
  expect([looks.most, statuses.filter((status) => status === 401).length]).toEqual([4, 68]);
  expect(statuses.filter((status) => status === 429)).toHaveLength(300 - 68);
});

test.each([
  ["a known key has ended", "key_ended", 401, "Bearer"],
  ["a known key's user was banned", "user_not_found", 404, null],
] as const)(
  "%s → %s, looked up once a minute; other keys from that address are not refused",
  async (_, code, status, challenge) => {
    const [key, other] = [await keyOf(1), await keyOf(2)];
    const { send, ask, ended, looks, pass } = await startWith([key, other]);
    expect(await ask(key)).toBe(200);
    ended.set(key, code);
    pass(60_001);
    const response = await send(key);
    expect(response.status).toBe(status);
    expect(response.headers.get("www-authenticate")).toBe(challenge);
    expect((await failedBody(response)).error.code).toBe(code);
    for (let time = 1; time < 30; time++) expect(await ask(key)).toBe(status);
    expect(looks.all).toBe(2);
    expect(await ask(other)).toBe(200);
  },
);

test("a key in the header apikey, or mistyped → a sentence that says so, and no lookup", async () => {
  const { api, send, looks } = await startWith([]);
  const key = await keyOf(1);
  const inApikey = await api.app.fetch(new Request("http://api.test/api/projects", { headers: { apikey: key } }));
  expect((await failedBody(inApikey)).error.message).toBe(
    "A key does not belong in apikey. Make one in the dashboard under Keys, and send it as Authorization: Bearer <key>.",
  );
  for (const wrong of [key.slice(0, -1), `${key}0`, key.replace("1", "2"), `${key}.e30.e30`, "kf_", "kf_undefined"]) {
    const { error } = await failedBody(await send(wrong));
    expect([wrong, error.code, error.message]).toEqual([
      wrong,
      "unauthorized",
      expect.stringMatching(/^The key is incomplete or mistyped:/),
    ]);
  }
  expect(looks.all).toBe(0);
});
