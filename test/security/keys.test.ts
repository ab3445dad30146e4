import { beforeAll, expect, inject, test } from "vitest";
import { OPERATIONS, type OperationId } from "../../shared/contract/operations/index.ts";
import type { Operation } from "../../shared/contract/operations/operation.ts";
import { createApiApp } from "../support/api/app.ts";
import { fillBuckets } from "../support/api/buckets.ts";
import { type CallOptions, requestInit } from "../support/api/call.ts";
import { footprint, leftBehind, openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { makeKey, withChecksum } from "../support/api/keys.ts";
import { OPERATION_IDS, prepare, REQUESTS, type Scene, setScene } from "../support/api/requests.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { signUp } from "../support/api/user.ts";
import { mcpUrl } from "../support/mcp/agent.ts";
import { rest } from "../support/security/rest.ts";

// Attacks with keys of a user (kf_…), at every operation: what OAuth clients were tried with, and what a key alone has. What Postgres
// decides: test/db/rights/keys.test.ts.

const sql = openDatabase();
const calls: string[] = [];
const app = createApiApp({
  fetcher: (input, init) => {
    calls.push(new URL(new Request(input, init).url).pathname);
    return fetch(input, init);
  },
});
let scene: Scene;
/** By what they may; and of the same user one without money, one that was revoked, one whose end has come. */
let keys: Record<"read" | "generate" | "manage" | "poor" | "revoked" | "ended" | "strange", string>;
beforeAll(async () => {
  scene = await setScene(sql);
  const stranger = await signUp();
  const made = async (body: Parameters<typeof makeKey>[1], user = scene.user) => (await makeKey(user, body)).key;
  keys = {
    read: await made({ may: "read" }),
    generate: await made({ may: "generate" }),
    manage: await made({ may: "manage" }),
    poor: await made({ may: "manage", dayLimitMicros: 0 }),
    revoked: await made({ may: "manage" }),
    ended: await made({ may: "manage", expiresAt: "2036-01-01T00:00:00.000Z" }),
    strange: await made({ may: "manage" }, stranger),
  };
  await scene.user.call(`/api/keys/${keys.revoked.slice(0, 19)}`, { method: "DELETE" });
  await sql`
    update keyframe_private.allowed_clients set expires_at = now() - interval '1 minute' where client_id = ${keys.ended.slice(0, 19)}`;
});

const OF_USERS = OPERATION_IDS.filter((id) => ["session", "manager"].includes(OPERATIONS[id].caller));
const of = (id: OperationId): Operation => OPERATIONS[id];

/** The right that an operation needs; null: no key has it. */
function neededFor(id: OperationId): "read" | "generate" | "manage" | null {
  const { tag, caller, method } = of(id);
  if (tag === "Keys") return null;
  if (caller === "manager" || method === "DELETE" || /Share/i.test(id)) return "manage";
  return REQUESTS[id].takes === "read" ? "read" : "generate";
}
const isStart = (id: OperationId) => REQUESTS[id].takes === "generate" && id !== "startQuote";
const namesResource = (id: OperationId) =>
  neededFor(id) !== null && (of(id).at.includes("/:") || of(id).at.startsWith("/projects/generate/"));

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const flipped = (key: string, at: number) => key.slice(0, at) + (key[at] === "0" ? "1" : "0") + key.slice(at + 1);

type Attack = {
  what: string;
  headers: () => Record<string, string> | Promise<Record<string, string>>;
  /** Added to the address. */
  query?: () => string;
  expected: readonly [status: number, code: string];
  at?: (id: OperationId) => boolean;
  isFree?: true;
};
const WRONG = [401, "unauthorized"] as const;

/** Not keys at all: refused before the database is asked. */
const MISWRITTEN: Record<string, () => Record<string, string>> = {
  "one digit changed": () => bearer(flipped(keys.manage, 30)),
  "a truncated key": () => bearer(keys.manage.slice(0, -1)),
  "its name alone": () => bearer(keys.manage.slice(0, 19)),
  "two keys in one header": () => bearer(`${keys.manage}, Bearer ${keys.strange}`),
  "as Basic": () => ({ authorization: `Basic ${keys.manage}` }),
  "in apikey": () => ({ apikey: keys.manage }),
  "like a JWT": () => bearer(`${keys.manage}.e30.e30`),
  "in upper case": () => bearer(keys.manage.toUpperCase()),
  "with other Unicode digits": () => bearer(`${keys.manage}\u00b2`),
  "a huge one": () => bearer(`${keys.manage}${"0".repeat(64_000)}`),
  "SQL in its place": () => bearer("kf_'or'1'='1"),
};
const NOT_ALLOWED = [403, "client_not_allowed"] as const;

/** A whole key of the right form, and where it must not do. */
const sent = (what: string, name: keyof typeof keys, expected: Attack["expected"], at?: Attack["at"]): Attack => ({
  ...{ what, headers: () => bearer(keys[name]), expected, ...(at && { at }) },
});

const ATTACKS: Attack[] = [
  ...Object.entries(MISWRITTEN).map(([what, headers]): Attack => ({ what, headers, expected: WRONG, isFree: true })),
  { what: "in the query", headers: () => ({}), query: () => `key=${keys.manage}`, expected: WRONG, isFree: true },
  {
    what: "the right secret's place filled with another",
    headers: async () => bearer(await withChecksum(keys.manage.slice(0, 19) + keys.strange.slice(19, 67))),
    expected: WRONG,
  },
  {
    what: "a key that never was",
    headers: async () => bearer(await withChecksum(`kf_${"0".repeat(16)}${keys.manage.slice(19, 67)}`)),
    expected: WRONG,
  },
  {
    what: "a key as a server for its own user",
    headers: () => ({ ...bearer(keys.manage), "keyframe-user": scene.user.id }),
    expected: [403, "forbidden"],
    isFree: true,
  },
  sent("a revoked key", "revoked", [401, "key_ended"]),
  sent("a key whose end has come", "ended", [401, "key_ended"]),
  sent("a key that may only read", "read", NOT_ALLOWED, (id) => neededFor(id) !== "read"),
  sent("a key that may not manage", "generate", NOT_ALLOWED, (id) => [null, "manage"].includes(neededFor(id))),
  sent("a key that may everything, to manage keys", "manage", NOT_ALLOWED, (id) => neededFor(id) === null),
  sent("another user's key that may everything", "strange", [404, "not_found"], namesResource),
  sent("a key whose money is spent", "poor", [402, "budget_exceeded"], isStart),
];

const COUNT = ATTACKS.reduce((sum, { at = () => true }) => sum + OF_USERS.filter(at).length, 0);

test.each(OF_USERS)(
  `%s, with each key that must not open it (${COUNT} attacks in all) → refused, and nothing is done`,
  async (id) => {
    const { path, options } = await prepare(id, scene);
    for (const { what, headers, query, expected, at = () => true, isFree } of ATTACKS) {
      if (!at(id)) continue;
      await fillBuckets(sql, scene.user.id);
      const isWrong = expected[0] === 401 || isFree;
      const state = () => (isWrong ? footprint(sql, scene.user.id) : leftBehind(sql, scene.user.id));
      const before = await state();
      calls.length = 0;
      const address = query === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}${query()}`;
      const from = { "x-forwarded-for": crypto.randomUUID() }; // a guesser's own limit: test/unit/api/keys.test.ts
      const given: CallOptions = { ...options, headers: { ...options.headers, ...from, ...(await headers()) } };
      const reply = await readReply(await app.fetch(new Request(`http://api.test${address}`, requestInit(given))));
      expect([what, reply.status, reply.error?.code]).toEqual([what, ...expected]);
      if (isFree) expect([what, calls]).toEqual([what, []]);
      expect([what, await state()]).toEqual([what, before]);
      if (reply.status === 401) expect(reply.headers.get("www-authenticate")).toBe("Bearer");
      for (const key of Object.values(keys)) expect(JSON.stringify(reply)).not.toContain(key.slice(19, 40));
    }
  },
);

test("all attacks with keys → no secret of a key, right or wrong, is in the log or in a called address", () => {
  const written = app.log.join("\n");
  expect(app.log.length).toBeGreaterThanOrEqual(300);
  for (const key of Object.values(keys)) expect(written + calls.join()).not.toContain(key.slice(19, 40));
});

test("keyframe-mcp with an invalid key → 401 that says why, without an offer to sign in by OAuth", async () => {
  for (const [key, code] of [
    [keys.revoked, "key_ended"],
    [keys.manage.slice(0, -1), "unauthorized"],
    [await withChecksum(`kf_${"2".repeat(64)}`), "unauthorized"],
  ] as const) {
    const response = await fetch(mcpUrl(), { method: "POST", headers: bearer(key), body: "{}" });
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await response.json()).toMatchObject({ error: { code } });
  }
});

test("a key at the Data API, Storage and Auth → refused, since these accept only sessions", async () => {
  const { url, publishableKey } = inject("stack");
  const given = { apikey: publishableKey, ...bearer(keys.manage) };
  const statuses = [(await rest({ token: keys.manage }, "GET", "/projects")).status];
  for (const at of ["/storage/v1/object/authenticated/projects/x.png", "/auth/v1/user"]) {
    const response = await fetch(url + at, { headers: given });
    await response.body?.cancel();
    statuses.push(response.status);
  }
  for (const status of statuses) expect([400, 401, 403]).toContain(status);
});

test("an app's token whose client_id is a key's name → has no more rights than the key, and not for another user", async () => {
  const claims = { client_id: keys.read.slice(0, 19) };
  const ask = async (userId: string, method = "GET") => {
    const headers = { ...bearer(await forgeToken(userId, { claims })), "content-type": "application/json" };
    const body = method === "POST" ? { body: JSON.stringify({ title: "t" }) } : {};
    return (await app.fetch(new Request("http://api.test/api/films", { method, headers, ...body }))).status;
  };
  const stranger = await signUp();
  expect([await ask(scene.user.id), await ask(scene.user.id, "POST"), await ask(stranger.id)]).toEqual([200, 403, 403]);
});
