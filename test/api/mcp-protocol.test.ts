import { request } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { signUp, type User } from "../support/api/user.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { mcpUrl } from "../support/mcp/agent.ts";

// What clients of both eras of the protocol really send: with a handshake (initialize), and since 2026-07-28 without one.

let user: User;
beforeAll(async () => {
  user = await signUp();
});

const MODERN = "2026-07-28";
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": { name: "a client", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
type Headers = Record<string, string | null>;
type Message = { jsonrpc: "2.0"; id?: number; method: string; params?: Record<string, unknown> };

const legacy = (method: string, params: Record<string, unknown> = {}): Message => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params,
});
const modern = (method: string, params: Record<string, unknown> = {}): Message =>
  legacy(method, { ...params, _meta: ENVELOPE });

type Answer = { status: number; code?: number; result?: unknown };

/** Sends these headers and no other: fetch would add some. Null: not sent. */
async function send(message: Message, changed: Headers = {}): Promise<Answer> {
  const { method, params = {} } = message;
  const own: Headers = {
    authorization: `Bearer ${user.token}`,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    ...("_meta" in params ? { "mcp-protocol-version": MODERN, "mcp-method": method } : {}),
    ...("_meta" in params && method === "tools/call" ? { "mcp-name": String(params.name) } : {}),
  };
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...own, ...changed })) if (value !== null) headers[name] = value;
  const { status, text } = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(mcpUrl(), { method: "POST", headers });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.end(JSON.stringify(message));
  });
  if (text === "") return { status };
  const { result, error } = JSON.parse(text.replace(/^event: message\ndata: /, ""));
  return { status, ...(result ? { result } : {}), ...(error ? { code: error.code } : {}) };
}

const TOOLS = { status: 200, result: { tools: expect.any(Array) } };
const CALLED = { status: 200, result: { structuredContent: { films: [] } } };
const HANDSHAKE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a client", version: "1" } };
const initialize = (version = HANDSHAKE.protocolVersion) =>
  legacy("initialize", { ...HANDSHAKE, protocolVersion: version });
const list = legacy("tools/list");
const call = { name: "list_films", arguments: {} };
const INITIALIZED: Message = { jsonrpc: "2.0", method: "notifications/initialized" };
const WELCOMED = { status: 200, result: { serverInfo: { name: "keyframe" }, instructions: expect.any(String) } };
const DISCOVERED = { status: 200, result: { supportedVersions: [MODERN] } };
const UNKNOWN_METHOD = { code: -32601 };

describe("orders of messages", () => {
  const MESSAGES: [Message, answer: object][] = [
    [initialize(), WELCOMED],
    [INITIALIZED, { status: 202 }],
    [list, TOOLS],
    [legacy("tools/call", call), CALLED],
    [legacy("ping"), { status: 200, result: {} }],
    [legacy("server/discover"), UNKNOWN_METHOD],
    [modern("server/discover"), DISCOVERED],
    [modern("tools/list"), TOOLS],
    [modern("tools/call", call), CALLED],
    [modern("initialize", HANDSHAKE), UNKNOWN_METHOD],
  ];
  test("a tool call before a handshake, two handshakes, or protocol eras in turn → each message is answered by itself", async () => {
    for (const [message, answer] of [...MESSAGES, ...MESSAGES.toReversed()])
      expect([message, await send(message)]).toMatchObject([message, answer]);
  });

  test.each([
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["2025-03-26", "2025-03-26"],
    ["2024-11-05", "2024-11-05"],
    ["1900-01-01", "2025-11-25"],
    [MODERN, "2025-11-25"],
  ])("a handshake for %s → %s", async (asked, got) => {
    expect(await send(initialize(asked))).toMatchObject({ status: 200, result: { protocolVersion: got } });
  });

  test.each([["legacy"], [{ pin: MODERN }], ["auto"]] as const)(
    "the official client, versionNegotiation %j → the tools and a call",
    async (mode) => {
      const client = new Client({ name: "a client", version: "1.0.0" }, { versionNegotiation: { mode } });
      const requestInit = { headers: { authorization: `Bearer ${user.token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl()), { requestInit }));
      expect((await client.listTools()).tools.length).toBeGreaterThan(20);
      expect((await client.callTool(call)).structuredContent).toEqual({ films: [] });
      await client.close();
    },
  );
});

const REFUSED = (status: number, code: number) => ({ status, code });
const DISAGREE = REFUSED(400, -32020);

describe("a header that is absent or wrong", () => {
  test.each<[what: string, changed: Headers, handshake: object, without: object]>([
    ["Accept as the specification says", {}, CALLED, CALLED],
    ["no Accept", { accept: null }, CALLED, CALLED],
    ["Accept: */*, as curl and python-httpx", { accept: "*/*" }, CALLED, CALLED],
    ["Accept: application/json alone", { accept: "application/json" }, CALLED, CALLED],
    ["Accept: application/*", { accept: "application/*;q=0.9" }, CALLED, CALLED],
    ["Accept in capitals", { accept: "Application/JSON, Text/Event-Stream" }, CALLED, CALLED],
    ["Accept: text/event-stream alone", { accept: "text/event-stream" }, REFUSED(406, -32000), CALLED],
    ["Accept: text/html", { accept: "text/html" }, REFUSED(406, -32000), CALLED],
    ["Content-Type with a charset", { "content-type": "application/json; charset=utf-8" }, CALLED, CALLED],
    ["no Content-Type", { "content-type": null }, REFUSED(415, -32000), REFUSED(415, -32000)],
    ["Content-Type: text/plain", { "content-type": "text/plain" }, REFUSED(415, -32000), REFUSED(415, -32000)],
    ["no MCP-Protocol-Version, as claude.ai", { "mcp-protocol-version": null }, CALLED, DISAGREE],
    ["an older MCP-Protocol-Version", { "mcp-protocol-version": "2025-03-26" }, CALLED, DISAGREE],
    ["another version than was agreed, as Claude Code", { "mcp-protocol-version": "2025-11-25" }, CALLED, DISAGREE],
    ["an unknown MCP-Protocol-Version", { "mcp-protocol-version": "1900-01-01" }, REFUSED(400, -32000), DISAGREE],
    ["the newest MCP-Protocol-Version", { "mcp-protocol-version": MODERN }, REFUSED(400, -32602), CALLED],
    ["an Mcp-Session-Id that nobody gave", { "mcp-session-id": "1868a90c" }, CALLED, CALLED],
    ["no Mcp-Method", { "mcp-method": null }, CALLED, DISAGREE],
    ["another Mcp-Method", { "mcp-method": "tools/list" }, CALLED, DISAGREE],
    ["no Mcp-Name", { "mcp-name": null }, CALLED, DISAGREE],
    ["another Mcp-Name", { "mcp-name": "start" }, CALLED, DISAGREE],
    ["a foreign Origin", { origin: "https://evil.example" }, CALLED, CALLED],
    ["Origin: null", { origin: "null" }, CALLED, CALLED],
    ["a Last-Event-ID", { "last-event-id": "7" }, CALLED, CALLED],
    ["a header of ours", { "x-keyframe-mcp-request": "1", "x-request-id": "a b" }, CALLED, CALLED],
  ])("an MCP request with %s → the answer in the table, in both eras", async (_what, changed, handshake, without) => {
    const own = Object.entries(changed).filter(([name]) => !name.startsWith("mcp-") || changed[name] !== null);
    expect(await send(legacy("tools/call", call), Object.fromEntries(own))).toMatchObject(handshake);
    expect(await send(modern("tools/call", call), changed)).toMatchObject(without);
  });

  test.each([
    ["application/json, text/event-stream", "text/event-stream"],
    ["*/*", "application/json"],
    ["application/json", "application/json"],
  ])("an MCP request with Accept: %s → an answer as %s", async (accept, type) => {
    const headers = { authorization: `Bearer ${user.token}`, accept, "content-type": "application/json" };
    const response = await fetch(mcpUrl(), { method: "POST", headers, body: JSON.stringify(list) });
    expect(response.headers.get("content-type")).toContain(type);
    const text = await response.text();
    expect(JSON.parse(text.replace(/^event: message\ndata: /, "")).result.tools).toHaveLength(23);
  });

  test("GET, DELETE, PUT of keyframe-mcp → 405; OPTIONS from a web page → allows its headers, exposes WWW-Authenticate", async () => {
    const authorization = `Bearer ${user.token}`;
    for (const method of ["GET", "DELETE", "PUT"]) {
      const response = await fetch(mcpUrl(), { method, headers: { authorization, accept: "text/event-stream" } });
      expect([method, response.status]).toEqual([method, 405]);
      await response.body?.cancel();
    }
    const asked = "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name";
    const response = await fetch(mcpUrl(), {
      method: "OPTIONS",
      headers: { origin: "https://a.example", "access-control-request-headers": asked },
    });
    expect([response.status, response.headers.get("access-control-allow-headers")]).toEqual([204, asked]);
    expect(response.headers.get("access-control-expose-headers")).toContain("www-authenticate");
  });
});

/** What a refusal without a token names, and what is there. */
async function discover(typed: string, headers: Record<string, string> = {}) {
  const refused = await fetch(typed, { method: "POST", headers: { ...headers, origin: "https://a.example" } });
  await refused.body?.cancel();
  const challenge = refused.headers.get("www-authenticate") ?? "";
  const [, address = ""] = /resource_metadata="([^"]*)"/.exec(challenge) ?? [];
  const metadata = await (await fetch(address)).json();
  return {
    status: refused.status,
    challenge,
    metadata,
    shown: refused.headers.get("access-control-expose-headers"),
  };
}

describe("discovery", () => {
  test.each(["", "/", "?project=7", "/?project=7&name=a%20b", '?quoted="x"'])(
    "the MCP address with %o appended → metadata with that address, but without a query, which Auth refuses, and the scope",
    async (end) => {
      const typed = mcpUrl() + end;
      const { status, challenge, metadata, shown } = await discover(typed);
      expect(status).toBe(401);
      expect(challenge).toMatch(/^Bearer scope="email", resource_metadata="[^"\s]+"$/);
      expect(shown).toContain("www-authenticate");
      expect(metadata).toEqual({
        resource: mcpUrl() + end.split("?")[0],
        authorization_servers: [`${inject("stack").url}/auth/v1`],
        scopes_supported: ["email"],
        bearer_methods_supported: ["header"],
        resource_name: "Keyframe",
      });
    },
  );

  test.each<[string, Record<string, unknown>, string]>([
    ["another audience", { aud: "https://app.example" }, 'aud must be "authenticated", or a list that has it'],
    ["another subject", { sub: "user_2abc" }, "sub must be the id of a user of this project's Auth, a UUID"],
  ])(
    "a token with %s → 401 invalid_token that names the wrong claim, at the API too",
    async (_what, claims, sentence) => {
      const headers = { authorization: `Bearer ${await forgeToken(user.id, { claims })}` };
      for (const url of [mcpUrl(), `${inject("stack").url}/functions/v1/api/projects`]) {
        const response = await fetch(url, { method: "POST", headers });
        expect(response.status).toBe(401);
        const { error } = await response.json();
        expect([error.code, error.message]).toEqual(["unauthorized", expect.stringContaining(sentence)]);
        if (url === mcpUrl())
          expect(response.headers.get("www-authenticate")).toMatch(/^Bearer error="invalid_token", /);
      }
    },
  );

  test("a token whose audience is a list with the MCP address → the tools", async () => {
    const claims = { aud: [mcpUrl(), "authenticated"] };
    const authorization = `Bearer ${await forgeToken(user.id, { claims })}`;
    expect(await send(list, { authorization })).toMatchObject(TOOLS);
  });
});
