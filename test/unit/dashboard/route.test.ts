import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callDashboard, isDashboardPath } from "../../../local/platform/dashboard-page.ts";

const demoUser = { email: "demo@keyframe.local", password: "only-here" };
const publicUrl = "http://127.0.0.1:54321";
let folder: string;

beforeAll(async () => {
  folder = await Deno.makeTempDir({ prefix: "kf-dashboard-route-" });
  await Deno.mkdir(join(folder, "assets"));
  await Deno.writeTextFile(join(folder, "index.html"), "<title>Keyframe</title>");
  await Deno.writeTextFile(join(folder, "assets", "index-abc.js"), "1");
  await Deno.writeTextFile(join(folder, "secret.txt"), "not a file of the dashboard");
});
afterAll(() => Deno.remove(folder, { recursive: true }));

function ask(path: string, init: RequestInit = {}, origin = publicUrl): Promise<Response> {
  const url = new URL(path, origin);
  return callDashboard(new Request(url, init), url, {
    folder,
    demoUser,
    publicUrl,
    publishableKey: "sb_publishable_1",
  });
}

const SCRIPT = "/assets/index-abc.js";
const elsewhere = (host: string) => `http://${host}`;

test.each<[what: string, at: [path: string, init?: RequestInit, origin?: string], status: number, headers: object]>([
  [
    "the page → asked for each time; no frame, no sniffing, no referrer",
    ["/"],
    200,
    {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": "frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  ],
  [
    "a file of assets → kept for good, since its name changes with what is in it",
    [SCRIPT],
    200,
    { "content-type": "text/javascript; charset=utf-8", "cache-control": "public, max-age=31536000, immutable" },
  ],
  ["a file that was never built → 404", ["/assets/none.js"], 404, {}],
  ["the page under a foreign name → 403", ["/", {}, elsewhere("evil.example:54321")], 403, {}],
  [
    "the demo user's password under a foreign name → 403",
    ["/config.json", {}, elsewhere("192.168.0.2:54321")],
    403,
    {},
  ],
  [
    "under another name of this machine → sent to the stack's own",
    ["/", {}, elsewhere("localhost:54321")],
    302,
    { location: "http://127.0.0.1:54321/" },
  ],
  ["through another port → left alone", ["/", {}, elsewhere("localhost:8080")], 200, {}],
  ["POST → 405", ["/", { method: "POST" }], 405, { allow: "GET, HEAD" }],
  ["DELETE → 405", ["/", { method: "DELETE" }], 405, { allow: "GET, HEAD" }],
])("a request to the dashboard: %s", async (_, at, status, headers) => {
  const answer = await ask(...at);
  await answer.body?.cancel();
  expect(answer.status).toBe(status);
  expect(Object.fromEntries(answer.headers)).toMatchObject(headers);
});

test("a dashboard file for a browser that accepts gzip → compressed, the same bytes each time; HEAD → only the headers", async () => {
  for (const path of [SCRIPT, SCRIPT, "/"]) {
    const zipped = await ask(path, { headers: { "accept-encoding": "gzip, br" } });
    expect([zipped.headers.get("content-encoding"), zipped.headers.get("vary")]).toEqual(["gzip", "Accept-Encoding"]);
    const text = await new Response(zipped.body?.pipeThrough(new DecompressionStream("gzip"))).text();
    expect(text).toBe(path === SCRIPT ? "1" : "<title>Keyframe</title>");
  }
  const head = await ask("/", { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("/config.json → the publishable key and the demo user, never cached", async () => {
  const answer = await ask("/config.json");
  expect(await answer.json()).toEqual({ publishableKey: "sb_publishable_1", demoUser });
  expect(answer.headers.get("cache-control")).toBe("no-store");
});

test.each([
  [true, ["/", "/config.json", "/favicon.svg", SCRIPT]],
  [false, ["/secret.txt", "/assets/../secret.txt", "/assets/a/b.js", "/assets/"]],
  [false, ["/auth/v1/user", "/mail", "/index.html"]],
])("a path of the dashboard: %s of %j", (isOurs, paths) => {
  for (const path of paths) expect(isDashboardPath(path), path).toBe(isOurs);
});
