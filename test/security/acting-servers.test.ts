import { beforeAll, describe, expect, inject, test } from "vitest";
import { callApi, sendToApi } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { signUp, type User } from "../support/api/user.ts";
import { rawExchange } from "../support/security/raw.ts";
import { expectRefusedEverywhere } from "../support/security/refused.ts";
import { rest } from "../support/security/rest.ts";

const sql = openDatabase();
const { url, publishableKey, secretKey } = inject("stack");
let victim: User;
let attacker: User;
let projectId: string;
beforeAll(async () => {
  [victim, attacker] = await Promise.all([signUp(), signUp()]);
  projectId = await victim.createProject();
});

const expectRefused = (headers: Record<string, string>, status: number, code: string) =>
  expectRefusedEverywhere(sql, { victim, projectId }, headers, [status, code]);

describe("Keyframe-User from anybody but a server with the secret key", () => {
  test.each<[who: string, headers: () => Record<string, string> | Promise<Record<string, string>>, status: number]>([
    ["nobody", () => ({}), 403],
    ["an app with its own key", () => ({ apikey: publishableKey, authorization: `Bearer ${publishableKey}` }), 403],
    ["another user", () => ({ apikey: publishableKey, authorization: `Bearer ${attacker.token}` }), 403],
    ["the user", () => ({ authorization: `Bearer ${victim.token}` }), 403],
    [
      "another user beside the secret key",
      () => ({ apikey: secretKey, authorization: `Bearer ${attacker.token}` }),
      403,
    ],
    [
      "a token of the service role",
      async () => ({ authorization: `Bearer ${await forgeToken(victim.id, { claims: { role: "service_role" } })}` }),
      403,
    ],
    ["the right key beside no session", () => ({ apikey: secretKey, authorization: "Basic x" }), 403],
    ["a guessed key", () => ({ apikey: "sb_secret_0000000000000000000000_00000000" }), 401],
    ["a guessed key beside the right one", () => ({ apikey: secretKey, authorization: "Bearer sb_secret_guess" }), 401],
    ["the key twice", () => ({ apikey: `${secretKey}, ${secretKey}` }), 401],
  ])("Keyframe-User from %s → refused", async (_who, make, status) => {
    const headers = { ...(await make()), "keyframe-user": victim.id };
    await expectRefused(headers, status, status === 403 ? "forbidden" : "unauthorized");
  });
});

describe("the secret key with a Keyframe-User that is not a user → refused before anything is read or done", () => {
  test.each<[string, string]>([
    ["none, as from a variable that is not set", ""],
    ["undefined", "undefined"],
    ["a pattern", "%"],
    ["SQL", "' or '1'='1"],
    ["a part of an id", "00000000-0000"],
    ["an id in braces", "{5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11}"],
    ["an id without its dashes", "5f0c9c0e6f0e4c559b3c0a9d9f5d3c11"],
  ])("Keyframe-User is %s → 400", async (_what, given) => {
    await expectRefused({ apikey: secretKey, "keyframe-user": given }, 400, "invalid_request");
  });

  test("Keyframe-User sent twice, for one user or for two → 400", async () => {
    for (const ids of [
      [victim.id, victim.id],
      [victim.id, attacker.id],
      [victim.id, ""],
    ]) {
      const lines = [`apikey: ${secretKey}`, ...ids.map((id) => `Keyframe-User: ${id}`)];
      const { status, body } = await rawExchange(`${url}/functions/v1/api/projects`, "GET", lines);
      expect([status, JSON.parse(body).error.code]).toEqual([400, "invalid_request"]);
    }
  });
});

test("Keyframe-User in capitals, with the secret key as bearer token → acts for that user", async () => {
  const headers = { authorization: `Bearer ${secretKey}`, "keyframe-user": victim.id.toUpperCase() };
  expect((await callApi(`/api/projects/${projectId}`, { headers })).status).toBe(200);
});

describe("the secret key for webhooks and metrics", () => {
  const session = () => `Bearer ${attacker.token}`;
  const bearer = `Bearer ${secretKey}`;
  const [project, user, refused] = [
    [200, 200],
    [200, 401],
    [401, 401],
  ];
  test.each<[what: string, given: () => Record<string, string>, statuses: number[] | undefined]>([
    ["the key as apikey", () => ({ apikey: secretKey }), project],
    ["as bearer token", () => ({ authorization: bearer }), project],
    ["as both, written otherwise", () => ({ authorization: `bearer  ${secretKey}`, apikey: secretKey }), project],
    ["beside the publishable key", () => ({ authorization: bearer, apikey: publishableKey }), project],
    ["a session beside it", () => ({ authorization: session(), apikey: secretKey }), user],
    ["a guess", () => ({ apikey: "sb_secret_guess" }), refused],
    ["the key with more behind it", () => ({ apikey: `${secretKey}x` }), refused],
    ["its beginning", () => ({ apikey: "sb_secret_" }), refused],
    ["the key twice", () => ({ apikey: `${secretKey}, ${secretKey}` }), refused],
    ["a guess beside it", () => ({ apikey: secretKey, authorization: "Bearer sb_secret_guess" }), refused],
    ["a guess before it", () => ({ apikey: "sb_secret_guess", authorization: bearer }), refused],
    ["a guess beside a session", () => ({ apikey: "sb_secret_guess", authorization: session() }), refused],
    ["no session beside it", () => ({ apikey: secretKey, authorization: "Bearer x.y.z" }), refused],
    ["a publishable key as session", () => ({ apikey: secretKey, authorization: `Bearer ${publishableKey}` }), refused],
    ["another scheme", () => ({ apikey: secretKey, authorization: `Basic ${secretKey}` }), refused],
    ["an empty Authorization", () => ({ apikey: secretKey, authorization: "" }), refused],
  ])("webhooks and metrics with the secret key, case: %s", async (_what, given, statuses) => {
    const sent = { headers: given() };
    const replies = [await sendToApi("/api/webhooks", sent), await sendToApi("/api/metrics", sent)];
    for (const { body } of replies) await body?.cancel();
    expect(replies.map(({ status }) => status)).toEqual(statuses);
  });
});

test("a server that acts for a user asks for the service's figures → none, as for the user", async () => {
  const headers = { apikey: secretKey, "keyframe-user": victim.id };
  for (const path of ["/api/health?deep=1", "/api/metrics"]) {
    expect([path, (await callApi(path, { headers })).status]).toEqual([path, 401]);
  }
});

test("a preflight of a web page → does not allow the header Keyframe-User", async () => {
  const answer = await fetch(`${url}/functions/v1/api/projects`, {
    method: "OPTIONS",
    headers: { "access-control-request-headers": "keyframe-user", origin: "https://page.example" },
  });
  await answer.body?.cancel();
  expect(answer.headers.get("access-control-allow-headers")).not.toMatch(/keyframe-user|\*/i);
});

test("act_as by the Data API → closed to all but the secret key; Keyframe-User has no effect there", async () => {
  const args = { user_id: victim.id, function_name: "list_projects", args: {} };
  const headers = { "accept-profile": "keyframe_worker", "content-profile": "keyframe_worker" };
  for (const caller of ["anon", attacker, victim] as const) {
    expect((await rest(caller, "POST", "/rpc/act_as", { json: args, headers })).code).toBe("42501");
  }
  const { text } = await rest(attacker, "GET", "/projects?select=id", { headers: { "keyframe-user": victim.id } });
  expect(text).toBe("[]");
});
