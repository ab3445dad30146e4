import { corsHeaders } from "@supabase/supabase-js/cors";
import { beforeAll, expect, test } from "vitest";
import { callApi, sendToApi } from "../support/api/call.ts";
import { expectOpenHeaders, readReply } from "../support/api/envelope.ts";
import { signUp, type User } from "../support/api/user.ts";
import { places } from "../support/openapi/document.ts";

let user: User;
let projectId: string;
let predictionId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  ({ predictionId } = await user.start("first-frame", { projectId, prompt: "[[fault:rejected]]" }));
});

const list = (header: string | null) => (header ?? "").split(/, */).map((name) => name.toLowerCase());

test.each(["/api/projects", "/api/projects/generate/first-frame", "/api/projects/reference-images", "/api/nothing"])(
  "OPTIONS %s from a browser → 204 without a session: any origin, and every header an app sends",
  async (path) => {
    const ofSupabase = list(corsHeaders["Access-Control-Allow-Headers"] ?? null);
    const own = "idempotency-key,if-match,if-none-match,prefer,x-region,x-request-id";
    const wanted = [...new Set([...own.split(","), ...ofSupabase])].sort().join(",");
    const response = await sendToApi(path, {
      method: "OPTIONS",
      headers: {
        origin: "https://films.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": wanted,
      },
    });
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expectOpenHeaders(response.headers);
    expect(list(response.headers.get("access-control-allow-headers"))).toEqual(
      expect.arrayContaining(wanted.split(",")),
    );
    expect(list(response.headers.get("access-control-allow-methods"))).toEqual([
      "get",
      "head",
      "post",
      "patch",
      "delete",
    ]);
    expect(response.headers.get("access-control-max-age")).toBe("86400");
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
  },
);

test("every answer, a refusal too → a page may read the headers that matter", async () => {
  for (const response of [
    await sendToApi("/api/health"),
    await sendToApi("/api/projects", { json: {} }),
    await sendToApi("/api/nothing"),
  ]) {
    const exposed = list(response.headers.get("access-control-expose-headers"));
    expect(exposed).toEqual(
      expect.arrayContaining([
        ...["x-request-id", "retry-after", "location", "etag", "preference-applied"],
        ...["ratelimit", "ratelimit-policy", "idempotency-replayed"],
      ]),
    );
    await readReply(response);
  }
});

test("a proper X-Request-Id → echoed in the header, and in the error", async () => {
  const headers = { "x-request-id": "film-42_a.B" };
  expect((await user.post("/api/projects", { title: "a", textPrompt: "b" }, headers)).headers.get("x-request-id")).toBe(
    "film-42_a.B",
  );
  expect((await callApi("/api/nothing", { headers })).error?.requestId).toBe("film-42_a.B");
});

test.each(["", "a b", "a/b", "<script>", "x".repeat(129), 'a","code":"x', "é"])(
  "the X-Request-Id %j → a UUID in its place",
  async (given) => {
    const { error } = await callApi("/api/nothing", { headers: { "x-request-id": given } });
    expect(error?.requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  },
);

test("no X-Request-Id → a new one for each request", async () => {
  const ids = await Promise.all([1, 2].map(async () => (await callApi("/api/health")).headers.get("x-request-id")));
  expect(new Set(ids).size).toBe(2);
});

test("HEAD → the status and headers of GET, and no body", async () => {
  const query = new URLSearchParams({ projectId, predictionId });
  for (const [path, status] of [
    ["/api/health", 200],
    ["/api/openapi.json", 200],
    ["/api/metrics", 401],
    [`/api/projects/generate/first-frame?${query}`, 200],
    [`/api/projects/generate/video?${query}`, 404],
    [`/api/projects/${projectId}/predictions`, 200],
    ["/api/projects/generate/cancel", 405],
    ["/api/nothing", 404],
  ] as const) {
    const response = await sendToApi(path, { method: "HEAD", token: user.token });
    expect([path, response.status, await response.text()]).toEqual([path, status, ""]);
    expectOpenHeaders(response.headers);
  }
});

test.each([
  "/api",
  "/api/",
  "/api/projects/",
  "/api//projects",
  "/api/projects/generate/first-frame/",
  "/api/%ff",
  "/api/../api/none",
  "/api/health/",
  "/api/projects/reference-images/x",
])("GET and POST %s → 404 not_found in the envelope", async (path) => {
  expect((await callApi(path, { token: user.token })).error?.code).toBe("not_found");
  expect((await user.post(path, { title: "a", textPrompt: "b" })).error?.code).toBe("not_found");
});

test("every path of the document with every method that it has not → 405 with those it has in Allow", async () => {
  for (const template of new Set(places.map((place) => place.template))) {
    const taken = places.filter((place) => place.template === template).map(({ method }) => method);
    const allow = ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"].filter(
      (one) => one === "OPTIONS" || taken.includes(one === "HEAD" ? "GET" : one),
    );
    for (const method of ["GET", "POST", "PATCH", "DELETE", "PUT", "PROPFIND"].filter((one) => !taken.includes(one))) {
      const path = template.replaceAll(/\{\w+\}/g, crypto.randomUUID());
      const { status, error, headers } = await user.call(path, { method });
      const found = [method, path, status, error?.code, headers.get("allow")];
      expect(found).toEqual([method, path, 405, "method_not_allowed", allow.join(", ")]);
    }
  }
});
