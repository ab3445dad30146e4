import { beforeAll, describe, expect, inject, test } from "vitest";
import { createApiApp } from "../support/api/app.ts";
import { callApi } from "../support/api/call.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { signUp, type User } from "../support/api/user.ts";
import { mcpUrl } from "../support/mcp/agent.ts";
import { rawExchange } from "../support/security/raw.ts";
import { expectRefusedEverywhere } from "../support/security/refused.ts";
import { HOSTILE_TOKENS } from "../support/security/tokens.ts";
import { until } from "../support/until.ts";

const sql = openDatabase();
let victim: User;
let projectId: string;
beforeAll(async () => {
  victim = await signUp();
  projectId = await victim.createProject();
});

const PROJECT = { title: "Mine", textPrompt: "Mine" };
const address = (path: string) => `${inject("stack").url}/functions/v1/api${path}`;

describe("a token that is not the session's", () => {
  test.each(Object.entries(HOSTILE_TOKENS))(
    "the token “%s” → 401 by the API, by keyframe-mcp, and by an API whose platform accepts anything",
    async (_name, make) => {
      const asked: string[] = [];
      const { fetch: call } = createApiApp({
        fetcher: async (request) => {
          asked.push(String(request));
          return Response.json({});
        },
      });
      const headers = { authorization: await make(victim) };
      for (const path of [`/api/projects/${projectId}`, "/api/webhooks"]) {
        const { status } = await call(new Request(`http://localhost${path}`, { headers }));
        expect([path, status, asked]).toEqual([path, 401, []]);
      }
      const { status, error } = await callApi(`/api/projects/${projectId}`, { headers });
      expect([status, error?.code]).toEqual([401, "unauthorized"]);
      const byAgent = await fetch(mcpUrl(), { method: "POST", headers });
      expect(byAgent.headers.get("www-authenticate")).toContain(`resource_metadata="${mcpUrl()}/`);
      expect([byAgent.status, (await byAgent.json()).error.code]).toEqual([401, "unauthorized"]);
    },
  );
});

// The Data API's answers: test/conformance/postgrest.test.ts.
test.each(["ES256 by another key", "alg none, unsigned", "a tampered payload", "an expired token", "a foreign issuer"])(
  "the token “%s” at Storage → 401",
  async (name) => {
    const { url, publishableKey } = inject("stack");
    const headers = { apikey: publishableKey, authorization: (await HOSTILE_TOKENS[name]?.(victim)) ?? "" };
    const answer = await fetch(`${url}/storage/v1/bucket`, { headers });
    await answer.body?.cancel();
    expect(answer.status).toBe(401);
  },
);

describe("a good session in a wrong place", () => {
  test.each<[string, (token: string) => Record<string, string>]>([
    ["a cookie", (token) => ({ cookie: `sb-access-token=${token}; Authorization=Bearer ${token}` })],
    ["apikey", (token) => ({ apikey: token })],
    ["Proxy-Authorization", (token) => ({ "proxy-authorization": `Bearer ${token}` })],
    ["X-Authorization", (token) => ({ "x-authorization": `Bearer ${token}`, "x-forwarded-authorization": token })],
    ["X-User-Id, by somebody who knows it", () => ({ "x-user-id": victim.id, "x-forwarded-user": victim.id })],
  ])("a good session in %s → 401", async (_place, headers) => {
    await expectRefusedEverywhere(sql, { victim, projectId }, headers(victim.token));
  });

  test("a good session in the query → 401: addresses are logged on the way", async () => {
    const query = new URLSearchParams({ access_token: victim.token, token: victim.token, authorization: victim.token });
    expect((await callApi(`/api/projects?${query}`)).status).toBe(401);
  });
});

describe("two Authorization headers", () => {
  test.each(["good first", "bad first", "both good"])("two Authorization headers, %s → 401", async (order) => {
    const bad = "Bearer a.b.c";
    const good = `Bearer ${victim.token}`;
    const values = { "good first": [good, bad], "bad first": [bad, good], "both good": [good, good] }[order] ?? [];
    const lines = values.map((value) => `Authorization: ${value}`);
    const before = await footprint(sql, victim.id);
    const { status, body } = await rawExchange(address(`/projects/${projectId}`), "GET", lines);
    expect([status, JSON.parse(body)]).toMatchObject([401, { success: false, error: { code: "unauthorized" } }]);
    expect(await footprint(sql, victim.id)).toEqual(before);
  });

  test("an Authorization header that is folded, or has a NUL or a bare line feed → 401, or refused before any function", async () => {
    for (const line of [
      `Authorization: Bearer\r\n ${victim.token}`,
      `Authorization: Bearer ${victim.token}\0`,
      `Authorization : Bearer ${victim.token}`,
      `Authorization: Bearer ${victim.token}\nX-Other: 1\0`,
    ]) {
      const { status } = await rawExchange(address(`/projects/${projectId}`), "GET", [line]);
      expect([JSON.stringify(line.replace(victim.token, "<token>")), [400, 401]]).toEqual([
        JSON.stringify(line.replace(victim.token, "<token>")),
        expect.arrayContaining([status]),
      ]);
    }
  });
});

test("a header larger than the server accepts → refused, and the next request is answered", async () => {
  const { status } = await rawExchange(address("/projects"), "GET", [`Authorization: Bearer ${"e".repeat(600_000)}`]);
  expect([400, 401, 413, 431]).toContain(status);
  expect((await victim.call(`/api/projects/${projectId}`)).status).toBe(200);
});

test("a wrong token next to a good apikey → 401: the token is not ignored", async () => {
  const authorization = `Bearer ${await forgeToken(victim.id, { claims: { exp: 1 } })}`;
  for (const apikey of [inject("stack").publishableKey, inject("stack").secretKey]) {
    await expectRefusedEverywhere(sql, { victim, projectId }, { apikey, authorization });
  }
});

test("a token of Auth with bearer, BEARER, two spaces, or next to an unknown apikey → 201", async () => {
  for (const prefix of ["bearer ", "BEARER ", "Bearer  "]) {
    const headers = { apikey: "sb_publishable_of_somebody_else", authorization: prefix + victim.token };
    expect((await callApi("/api/projects", { headers, json: PROJECT })).status).toBe(201);
  }
});

test("a token that has just expired → 401 at once, however often it was accepted before", async () => {
  const status = async (token: string) =>
    (await callApi(`/api/projects/generate/video?projectId=${projectId}`, { token })).status;
  // Two requests of a busy machine may take longer than a token lives.
  const accepted = await until("a token that was accepted twice", async () => {
    const exp = Math.floor(Date.now() / 1000) + 3;
    const token = await forgeToken(victim.id, { claims: { exp } });
    const statuses = [await status(token), await status(token)]; // 404: there is no video yet
    return statuses.every((one) => one === 404) ? { token, exp } : undefined;
  });
  await until("the refusal", async () => (await status(accepted.token)) === 401);
  expect(Date.now() / 1000).toBeGreaterThanOrEqual(accepted.exp);
});

test("a valid token of a user who no longer exists → 401, and no project", async () => {
  const gone = crypto.randomUUID();
  const reply = await callApi("/api/projects", { token: await forgeToken(gone), json: PROJECT });
  expect([reply.status, reply.error?.code]).toEqual([401, "unauthorized"]);
  expect((await footprint(sql, gone)).projects).toBe(0);
});
