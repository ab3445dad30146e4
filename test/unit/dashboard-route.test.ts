import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callDashboard, isDashboardPath } from "../../local/platform/dashboard-page.ts";

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

test("/ → the page, asked for anew each time; no frame, no sniffing, no referrer", async () => {
  const answer = await ask("/");
  expect(await answer.text()).toBe("<title>Keyframe</title>");
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache",
    "content-security-policy": "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  });
});

test("a file of assets → kept for good, since its name changes with what is in it", async () => {
  const answer = await ask("/assets/index-abc.js");
  expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
  expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  await answer.body?.cancel();
});

test("a file for a browser that accepts gzip → compressed; for any other → as it is", async () => {
  const zipped = await ask("/assets/index-abc.js", { headers: { "accept-encoding": "gzip, br" } });
  expect([zipped.headers.get("content-encoding"), zipped.headers.get("vary")]).toEqual(["gzip", "Accept-Encoding"]);
  const plain = zipped.body?.pipeThrough(new DecompressionStream("gzip"));
  expect(await new Response(plain).text()).toBe("1");
  const whole = await ask("/assets/index-abc.js");
  expect([whole.headers.get("content-encoding"), await whole.text()]).toEqual([null, "1"]);
});

test("/config.json → the publishable key and the demo user, never kept", async () => {
  const answer = await ask("/config.json");
  expect(await answer.json()).toEqual({ publishableKey: "sb_publishable_1", demoUser });
  expect(answer.headers.get("cache-control")).toBe("no-store");
});

test("a file that was never built → 404", async () => {
  expect((await ask("/assets/none.js")).status).toBe(404);
});

test.each(["evil.example", "192.168.0.2"])("under the name %s → 403, the demo user's password too", async (host) => {
  expect((await ask("/", {}, `http://${host}:54321`)).status).toBe(403);
  expect((await ask("/config.json", {}, `http://${host}:54321`)).status).toBe(403);
});

test("under another name of this machine → sent to the stack's own; through another port it is left alone", async () => {
  const answer = await ask("/", {}, "http://localhost:54321");
  expect([answer.status, answer.headers.get("location")]).toEqual([302, "http://127.0.0.1:54321/"]);
  expect((await ask("/", {}, "http://localhost:8080")).status).toBe(200);
});

test.each(["POST", "PUT", "DELETE"])("%s → 405", async (method) => {
  const answer = await ask("/", { method });
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("HEAD → the headers alone", async () => {
  const answer = await ask("/", { method: "HEAD" });
  expect([answer.status, await answer.text()]).toEqual([200, ""]);
});

describe("a path that belongs to the dashboard", () => {
  test.each(["/", "/config.json", "/favicon.svg", "/assets/index-abc.js"])("%s", (path) => {
    expect(isDashboardPath(path)).toBe(true);
  });
  test.each([
    "/secret.txt",
    "/assets/../secret.txt",
    "/assets/a/b.js",
    "/assets/",
    "/auth/v1/user",
    "/studio",
    "/index.html",
  ])("not %s", (path) => {
    expect(isDashboardPath(path)).toBe(false);
  });
});
