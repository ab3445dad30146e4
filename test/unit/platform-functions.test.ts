import { afterAll, beforeAll, expect, test } from "vitest";
import { createFunctionsRoute } from "../../local/platform/functions-route.ts";
import { until } from "../support/until.ts";

const PUBLIC_URL = "http://127.0.0.1:54321";

let gateway: Deno.HttpServer<Deno.NetAddr>;
let api: Deno.HttpServer<Deno.NetAddr>;
let aborted = 0;
const decoder = new TextDecoder();

beforeAll(() => {
  api = serve((request) => {
    const url = new URL(request.url);
    if (url.pathname === "/api/redirect")
      return new Response(null, { status: 302, headers: { location: "/elsewhere" } });
    if (url.pathname === "/api/echo") return new Response(request.body, { headers: { "x-own": "yes" } });
    if (url.pathname === "/api/endless") {
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("first")),
        cancel: () => {
          aborted++;
        },
      });
      return new Response(body);
    }
    const headers = Object.fromEntries(request.headers);
    return Response.json({ method: request.method, path: url.pathname + url.search, headers }, { status: 202 });
  });
  const functions = { api: `http://127.0.0.1:${api.addr.port}`, away: "http://127.0.0.1:1" };
  const callFunction = createFunctionsRoute(functions, PUBLIC_URL);
  gateway = serve((request) => callFunction(request, new URL(request.url)));
});
afterAll(() => Promise.all([gateway?.shutdown(), api?.shutdown()]));

function serve(handler: (request: Request) => Response | Promise<Response>): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, handler);
}

const call = (path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${gateway.addr.port}/functions/v1${path}`, { redirect: "manual", ...init });

test("a call → the function sees /<name>/…, method, query and headers; its status comes back", async () => {
  const headers = { authorization: "Bearer t", "x-request-id": "r1", apikey: "k" };
  const answer = await call("/api/projects/generate/video?projectId=1&x=%20", { method: "PATCH", headers });
  expect(answer.status).toBe(202);
  const seen = await answer.json();
  expect(seen).toMatchObject({ method: "PATCH", path: "/api/projects/generate/video?projectId=1&x=%20" });
  expect(seen.headers).toMatchObject({ ...headers, "x-forwarded-host": "127.0.0.1", "x-forwarded-port": "54321" });
});

test("a redirect → handed to the client, not followed", async () => {
  const answer = await call("/api/redirect");
  expect([answer.status, answer.headers.get("location")]).toEqual([302, "/elsewhere"]);
});

test("a streamed request → the answer begins before the request has ended", async () => {
  let push: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      push = controller;
      controller.enqueue(new TextEncoder().encode("one"));
    },
  });
  const answer = await call("/api/echo", { method: "POST", body });
  expect(answer.headers.get("x-own")).toBe("yes");
  const reader = answer.body?.getReader();
  expect(decoder.decode((await reader?.read())?.value)).toBe("one");
  push?.enqueue(new TextEncoder().encode("two"));
  expect(decoder.decode((await reader?.read())?.value)).toBe("two");
  push?.close();
  expect((await reader?.read())?.done).toBe(true);
});

test("a client that leaves → the function's answer is cancelled", async () => {
  const leave = new AbortController();
  const answer = await call("/api/endless", { signal: leave.signal });
  await answer.body?.getReader().read();
  leave.abort();
  await until("the function's answer is cancelled", () => aborted === 1);
});

test("a function that does not run → 503 BOOT_ERROR", async () => {
  const answer = await call("/away/x", { method: "POST", body: "x" });
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ code: "BOOT_ERROR", message: "Function failed to start (please check logs)" });
});

test.each(["/nobody", "/constructor/x", "/"])("an undeclared function, %s → 404", async (path) => {
  const answer = await call(path);
  expect(answer.status).toBe(404);
  expect(await answer.json()).toMatchObject({ code: "NOT_FOUND" });
});
