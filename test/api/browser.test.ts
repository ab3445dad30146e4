import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { launchBrowser } from "../../tools/demo/browser.ts";
import { openDatabase } from "../support/api/database.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";

// A page of another origin calls the API from a real browser, which enforces CORS.

const sql = openDatabase();
const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

let page: Page;
let user: User;
beforeAll(async () => {
  const html = { headers: { "content-type": "text/html" } };
  const site = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, () => new Response("", html));
  ends.push(() => site.shutdown());
  const browser = await launchBrowser();
  ends.push(() => browser.close());
  page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${site.addr.port}/`);
  user = await signUp();
});

type Request = { path: string; method?: string; headers?: Record<string, string>; json?: unknown };
type Seen = { status: number; headers: Record<string, string>; text: string } | { error: string };

/** Fetches in the page, with the session; `headers` of the answer are those that the page may read. */
async function fetchInPage({ path, method = "GET", headers = {}, json }: Request): Promise<Seen> {
  const url = `${inject("stack").url}/functions/v1${path}`;
  const sent = {
    authorization: `Bearer ${user.token}`,
    ...(json === undefined ? {} : { "content-type": "application/json" }),
    ...headers,
  };
  const init = { method, headers: sent, ...(json === undefined ? {} : { body: JSON.stringify(json) }) };
  return await page.evaluate(
    async ({ url, init }) => {
      try {
        const response = await fetch(url, init);
        const text = await response.text();
        return { status: response.status, headers: Object.fromEntries(response.headers), text };
      } catch (error) {
        return { error: String(error) };
      }
    },
    { url, init },
  );
}

async function answered(request: Request) {
  const seen = await fetchInPage(request);
  if ("error" in seen) throw new Error(`The browser refused ${request.method} ${request.path}: ${seen.error}`);
  return { ...seen, data: seen.text === "" ? null : JSON.parse(seen.text).data };
}

test("every verb, with every header an app sends → answered, and every header that matters is readable", async () => {
  const key = { "idempotency-key": crypto.randomUUID() };
  const create = { path: "/api/projects", method: "POST", json: { title: "a", textPrompt: "b" }, headers: key };
  const created = await answered(create);
  expect(created.status).toBe(201);
  expect(created.headers).toMatchObject({
    "x-request-id": expect.any(String),
    ratelimit: expect.stringMatching(/^"create";r=\d+;t=\d+$/),
    "ratelimit-policy": '"create";q=60;w=60',
  });
  const again = await answered(create);
  expect([again.status, again.headers["idempotency-replayed"], again.data]).toEqual([201, "true", created.data]);

  const { projectId } = created.data;
  const path = `/api/projects/${projectId}`;
  const changed = await answered({
    path,
    method: "PATCH",
    json: { title: "c" },
    headers: { "x-request-id": "page-1" },
  });
  expect([changed.status, changed.data.title, changed.headers["x-request-id"]]).toEqual([200, "c", "page-1"]);
  expect((await answered({ path: "/api/projects?limit=5" })).data.projects).toHaveLength(1);

  const json = { projectId, prompt: "[[fault:failed]] a storm" };
  const started = await answered({
    path: "/api/projects/generate/first-frame",
    method: "POST",
    json,
    headers: { ...key, "idempotency-key": crypto.randomUUID(), prefer: "wait=20" },
  });
  expect([started.status, started.data.status]).toEqual([202, "failed"]);
  expect(started.headers).toMatchObject({
    etag: expect.stringMatching(/^W\/"failed-/),
    location: expect.stringContaining(started.data.predictionId),
    "preference-applied": "wait=20",
  });
  expect((await answered({ path, method: "HEAD" })).status).toBe(200);
  expect((await answered({ path, method: "DELETE" })).status).toBe(200);
  const gone = await answered({ path });
  expect([gone.status, JSON.parse(gone.text).error.code]).toEqual([404, "not_found"]);
});

test("a poll with If-None-Match and Prefer → the page sees 304, Retry-After and the ETag", async () => {
  const projectId = await user.createProject();
  const { predictionId } = await startStuck(sql, user, "first-frame", projectId);
  const path = `/api/projects/generate/first-frame?${new URLSearchParams({ projectId, predictionId })}`;
  const first = await answered({ path });
  const headers = { "if-none-match": first.headers.etag ?? "", prefer: "wait=1" };
  const second = await answered({ path, headers });
  expect([second.status, second.text]).toEqual([304, ""]);
  expect(second.headers).toMatchObject({
    etag: first.headers.etag,
    "retry-after": "1",
    "preference-applied": "wait=1",
    ratelimit: expect.stringMatching(/^"read";/),
  });
  await user.post("/api/projects/generate/cancel", { projectId, predictionId });
  const third = await answered({ path, headers: { "if-none-match": first.headers.etag ?? "" } });
  expect([third.status, third.data.status]).toEqual([200, "canceled"]);
});

test("a verb or a header that the API does not take → the browser does not send it", async () => {
  expect(await fetchInPage({ path: "/api/projects", method: "PUT" })).toHaveProperty("error");
  expect(await fetchInPage({ path: "/api/projects", headers: { "x-unknown": "1" } })).toHaveProperty("error");
});
