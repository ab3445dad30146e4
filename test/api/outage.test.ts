import { afterAll, expect, inject, test } from "vitest";
import { OPERATIONS } from "../../shared/contract/operations/index.ts";
import { createApiApp } from "../support/api/app.ts";
import { type CallOptions, requestInit } from "../support/api/call.ts";
import { readReply } from "../support/api/envelope.ts";
import { OPERATION_IDS, REQUESTS, unknownIds } from "../support/api/requests.ts";
import { forgeToken } from "../support/api/tokens.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";

const token = await forgeToken(crypto.randomUUID());
const over = new AbortController();
afterAll(() => over.abort());

function serve(handler: (request: Request) => Response | Promise<Response>): string {
  const options = { hostname: "127.0.0.1", port: 0, signal: over.signal, onListen: () => undefined };
  const server = Deno.serve(options, handler);
  return `http://127.0.0.1:${server.addr.port}`;
}

/** The API over HTTP in front of a platform at this address, which it gives up after `timeoutMs`. */
function apiBefore(platformUrl: string, timeoutMs?: number) {
  const app = createApiApp({ platformUrl, timeoutMs });
  const url = serve(app.fetch);
  const ask = async (path: string, options: CallOptions = {}) =>
    readReply(await fetch(url + path, requestInit({ token, ...options })));
  return { ask, log: app.log };
}

const ids = unknownIds();
async function requests(): Promise<[path: string, options: CallOptions][]> {
  const token = inject("stack").secretKey;
  const asked = OPERATION_IDS.map(async (one): Promise<[string, CallOptions]> => {
    const { path, options } = REQUESTS[one];
    const byServer =
      OPERATIONS[one].caller === "server" ? { token, headers: { "keyframe-user": crypto.randomUUID() } } : {};
    return [path(ids), { method: OPERATIONS[one].method, ...byServer, ...(await options?.(ids)) }];
  });
  return [["/api/health?deep=1", { token }], ["/api/metrics", { token }], ...(await Promise.all(asked))];
}

const json = (status: number, body: unknown) => () => Response.json(body, { status });

const AWAY: Record<string, () => string> = {
  "nothing listens": () => "http://127.0.0.1:9",
  "the gateway answers 502 with a web page": () =>
    serve(() => new Response("<html>Bad gateway</html>", { status: 502, headers: { "content-type": "text/html" } })),
  "the platform's own rate limit": () => serve(json(429, { message: "too many requests" })),
  "no answer comes": () => serve(() => new Promise(() => undefined)),
};

test.each(Object.entries(AWAY))("%s → every route answers 503 unavailable with Retry-After", async (_name, address) => {
  const { ask, log } = apiBefore(address(), 300);
  const replies = await Promise.all((await requests()).map((request) => ask(...request)));
  for (const { status, error, headers } of replies) {
    expect([status, error?.code]).toEqual([503, "unavailable"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(2);
    expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(5);
  }
  expect(log.filter((line) => !line.includes("health_failed"))).toHaveLength(replies.length);
  expect(log.join("\n")).not.toContain("Harbour");
});

test("an answer of the database that is not JSON → 500 internal, and none of its words in the error or the log", async () => {
  const { ask, log } = apiBefore(serve(() => new Response("a secret row")));
  const { status, error } = await ask("/api/projects");
  expect([status, error?.code]).toEqual([500, "internal"]);
  expect(JSON.stringify(error) + log.join()).not.toContain("secret");
});

test.each([
  ["of an older version", "0.0.9"],
  ["without a version", null],
])("GET /api/health on a database %s → 503 schema_outdated; on a newer one → 200", async (_what, schema) => {
  const older = await apiBefore(serve(json(200, { schema, writes: "ok" }))).ask("/api/health", {});
  expect([older.status, older.error?.code]).toEqual([503, "schema_outdated"]);
  const newer = await apiBefore(serve(json(200, { schema: "1000.0.0", writes: "ok" }))).ask("/api/health", {});
  expect(newer.status).toBe(200);
});

test("the platform comes back → the next request succeeds, without a restart", async () => {
  let up = false;
  const health = { schema: SCHEMA_VERSION, writes: "ok" };
  const { ask } = apiBefore(serve(() => (up ? Response.json(health) : new Response(null, { status: 503 }))));
  expect((await ask("/api/health")).status).toBe(503);
  up = true;
  expect((await ask("/api/health")).status).toBe(200);
});
