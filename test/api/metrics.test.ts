import { beforeAll, expect, inject, test } from "vitest";
import { serviceFigures } from "../../shared/contract/service.ts";
import { type CallOptions, callApi, sendToApi } from "../support/api/call.ts";
import { expectOpenHeaders } from "../support/api/envelope.ts";
import { signUp, type User } from "../support/api/user.ts";

const PATH = "/api/metrics";
const key = () => inject("stack").secretKey;

let user: User;
beforeAll(async () => {
  user = await signUp();
});

/** One line of the format, as Prometheus reads it. */
const SAMPLE = /^(keyframe_[a-z0-9_]+)(\{[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*\})? (\d+(?:\.\d+)?)$/;

test.each<[string, () => CallOptions]>([
  ["as apikey", () => ({ headers: { apikey: key() } })],
  ["as a bearer token", () => ({ token: key() })],
])("GET with the secret key %s → the text format, every sample under its help and type", async (_, options) => {
  const response = await sendToApi(PATH, options());
  expect([response.status, response.headers.get("content-type")]).toEqual([
    200,
    "text/plain; version=0.0.4; charset=utf-8",
  ]);
  expectOpenHeaders(response.headers);
  const text = await response.text();
  expect(text.endsWith("\n")).toBe(true);
  const helped = new Set<string>();
  const typed = new Set<string>();
  const sampled = new Set<string>();
  for (const line of text.slice(0, -1).split("\n")) {
    const [, kind, of = ""] = /^# (HELP|TYPE) (\S+) .+$/.exec(line) ?? [];
    if (kind === "HELP") helped.add(of);
    else if (kind === "TYPE") typed.add(of);
    else {
      const name = SAMPLE.exec(line)?.[1];
      expect(name, line).toBeDefined();
      expect(typed.has(name ?? ""), line).toBe(true);
      expect(sampled.has(line.slice(0, line.lastIndexOf(" "))), "a sample twice").toBe(false);
      sampled.add(line.slice(0, line.lastIndexOf(" ")));
    }
  }
  expect(helped).toEqual(typed);
  expect(sampled.size).toBeGreaterThan(25);
});

test("the same figures as health?deep=1 → a metric for what does not change meanwhile", async () => {
  const { data } = await callApi("/api/health?deep=1", { token: key() });
  const { sweep, prune } = serviceFigures.parse(Object(data).figures);
  const text = await (await sendToApi(PATH, { token: key() })).text();
  expect(text).toContain(`keyframe_cron_scheduled{job="sweep"} ${Number(sweep.scheduled)}\n`);
  expect(text).toContain(`keyframe_cron_scheduled{job="prune"} ${Number(prune.scheduled)}\n`);
});

test.each<[string, () => CallOptions]>([
  ["nothing", () => ({})],
  ["a session", () => ({ token: user.token })],
  ["a wrong secret key", () => ({ token: "sb_secret_wrong" })],
  ["the publishable key", () => ({ headers: { apikey: inject("stack").publishableKey } })],
])("%s → 401 unauthorized, in the envelope", async (_, options) => {
  const { status, error } = await callApi(PATH, options());
  expect([status, error?.code]).toEqual([401, "unauthorized"]);
});

test("HEAD → 200 and no body; POST → 405 in the envelope", async () => {
  const head = await sendToApi(PATH, { method: "HEAD", token: key() });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  const { status, error, headers } = await callApi(PATH, { method: "POST", token: key() });
  expect([status, error?.code, headers.get("allow")]).toEqual([405, "method_not_allowed", "GET, HEAD, OPTIONS"]);
});
