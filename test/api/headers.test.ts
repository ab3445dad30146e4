import { FunctionRegion } from "@supabase/supabase-js";
import { corsHeaders } from "@supabase/supabase-js/cors";
import { beforeAll, expect, test } from "vitest";
import { callApi, sendToApi } from "../support/api/call.ts";
import { signUp, type User } from "../support/api/user.ts";

let user: User;
let projectId: string;
let predictionId: string;
beforeAll(async () => {
  user = await signUp();
  projectId = await user.createProject();
  ({ predictionId } = await user.start("first-frame", { projectId, prompt: "[[fault:rejected]]" }));
});

const list = (header: string | null) => (header ?? "").split(/, */).map((name) => name.toLowerCase());

test.each(["/api/projects", "/api/projects/reference-images", "/api/nothing"])(
  "OPTIONS %s from a browser → 204 without a session: every header an app sends, and no credentials",
  async (path) => {
    const ofSupabase = list(corsHeaders["Access-Control-Allow-Headers"] ?? null);
    const own = ["idempotency-key", "if-match", "if-none-match", "prefer", "sentry-trace", "x-region", "x-request-id"];
    const { status, headers } = await sendToApi(path, { method: "OPTIONS" });
    expect(status).toBe(204);
    expect(list(headers.get("access-control-allow-headers"))).toEqual(expect.arrayContaining([...own, ...ofSupabase]));
    expect(list(headers.get("access-control-allow-methods"))).toEqual(["get", "head", "post", "patch", "delete"]);
    expect(headers.get("access-control-allow-credentials")).toBeNull();
    expect(headers.get("access-control-max-age")).toBe("86400");
  },
);

test("an answer to a browser → names the headers that a page may read", async () => {
  const { headers } = await sendToApi("/api/nothing");
  expect(list(headers.get("access-control-expose-headers")).toSorted()).toEqual([
    ...["etag", "idempotency-replayed", "location", "preference-applied", "ratelimit", "ratelimit-policy"],
    ...["retry-after", "x-request-id"],
  ]);
});

test("functions.invoke of supabase-js with a region → answered, ignoring the parameter that it adds for the platform", async () => {
  const body = { title: "Harbour", textPrompt: "A harbour at dawn" };
  const { functions } = user.supabase;
  const { data, error } = await functions.invoke("api/projects", { body, region: FunctionRegion.EuCentral1 });
  expect([error, data]).toEqual([null, expect.objectContaining({ success: true })]);
});

test("a valid X-Request-Id → echoed; an invalid one, or none → a new UUID for each request", async () => {
  const idOf = async (given: Record<string, string>) =>
    (await callApi("/api/nothing", { headers: given })).error?.requestId;
  expect(await idOf({ "x-request-id": "film-42_a.B" })).toBe("film-42_a.B");
  const keys = [`kf_${"0".repeat(72)}`, "sb_secret_x"];
  const refused = ["", "a b", "a/b", "<script>", "x".repeat(129), 'a","code":"x', "é", ...keys].map((id) => ({
    "x-request-id": id,
  }));
  const made = await Promise.all([...refused, {}, {}].map(idOf));
  for (const id of made) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(made).size).toBe(made.length);
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
  }
});
