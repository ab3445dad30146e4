import { beforeAll, describe, expect, inject, test } from "vitest";
import { serviceFigures } from "../../shared/contract/service.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";
import { createApiApp } from "../support/api/app.ts";
import { type CallOptions, callApi, requestInit } from "../support/api/call.ts";
import { openDatabase } from "../support/api/database.ts";
import { readReply } from "../support/api/envelope.ts";
import { startStuck } from "../support/api/stuck.ts";
import { signUp, type User } from "../support/api/user.ts";
import { until } from "../support/until.ts";

const DEEP = "/api/health?deep=1";
const key = () => inject("stack").secretKey;
const withKey = () => ({ headers: { apikey: key() } });

let user: User;
beforeAll(async () => {
  user = await signUp();
});

const figuresOf = (data: unknown) => serviceFigures.parse(Object(data).figures);

test("with the secret key → ok, and the figures of the running service, sweep and prune at work", async () => {
  const read = async () => {
    const { status, data } = await callApi(DEEP, withKey());
    expect([status, data]).toMatchObject([200, { database: "ok" }]);
    return figuresOf(data);
  };
  await until("a sweep that ended well", async () => (await read()).sweep.lastSuccessSeconds !== null);
  const { sweep, prune } = await read();
  expect([sweep.scheduled, prune.scheduled]).toEqual([true, true]);
  expect(sweep.lastSuccessSeconds).toBeLessThan(60);
});

test("a kick whose answer came → when it was made, and after how long the function claimed work; kicks are no problem", async () => {
  await user.start("first-frame", { projectId: await user.createProject() });
  const { generate } = await until("the last kick acknowledged", async () => {
    const { lastKicks } = figuresOf((await callApi(DEEP, withKey())).data);
    return lastKicks.generate.acknowledgedAfterSeconds !== null && lastKicks;
  });
  expect(generate.madeSeconds).toBeLessThan(600);
  expect(generate.acknowledgedAfterSeconds).toBeLessThan(30);
  await until(
    "its answer counted as accepted",
    async () => figuresOf((await callApi(DEEP, withKey())).data).kicks.accepted > 0,
  );
  const { data } = await callApi(DEEP, withKey());
  expect(String(Object(data).problems)).not.toContain("generate");
});

test("a prediction that the provider is at → among those that have not ended", async () => {
  await startStuck(openDatabase(), user, "first-frame", await user.createProject());
  const { predictions } = figuresOf((await callApi(DEEP, withKey())).data);
  expect(predictions.starting + predictions.processing).toBeGreaterThan(0);
});

test("the key as a bearer token, as Prometheus and older clients send it → the figures", async () => {
  const { status, data } = await callApi(DEEP, { token: key() });
  expect([status, figuresOf(data).sweep.scheduled]).toEqual([200, true]);
});

describe("without the right key, and nothing but it", () => {
  test.each<[string, () => CallOptions]>([
    ["nothing", () => ({})],
    ["a session", () => ({ token: user.token })],
    ["a session beside the right key", () => ({ token: user.token, ...withKey() })],
    ["the publishable key", () => ({ headers: { apikey: inject("stack").publishableKey } })],
    ["a wrong secret key", () => ({ headers: { apikey: "sb_secret_wrong" } })],
    ["a wrong secret key beside the right one", () => ({ headers: { apikey: "sb_secret_wrong" }, token: key() })],
    ["half of the key", () => ({ headers: { apikey: key().slice(0, -1) } })],
    ["the key as Basic", () => ({ headers: { authorization: `Basic ${key()}` } })],
  ])("%s → 401 unauthorized in the envelope, and no figures", async (_, options) => {
    const { status, error, data } = await callApi(DEEP, options());
    expect([status, error?.code, data]).toEqual([401, "unauthorized", null]);
  });
});

test("without deep → as ever: open to all, and two words", async () => {
  for (const options of [{}, withKey(), { token: user.token }, { headers: { apikey: "sb_secret_wrong" } }]) {
    const { status, data } = await callApi("/api/health", options);
    expect([status, data]).toEqual([200, { status: "ok", database: "ok", schemaVersion: SCHEMA_VERSION }]);
  }
});

test.each(["deep=0", "deep=", "deep", "deep=1&deep=1", "deep=true", "depth=1"])("?%s → 400", async (query) => {
  const { status, error } = await callApi(`/api/health?${query}`, withKey());
  expect([status, error?.code]).toEqual([400, "invalid_request"]);
});

test("HEAD → the status of GET and no body", async () => {
  const response = await fetch(`${inject("stack").url}/functions/v1${DEEP}`, { method: "HEAD", ...withKey() });
  expect([response.status, await response.text()]).toEqual([200, ""]);
});

describe("round trips", () => {
  const sent: string[] = [];
  const app = createApiApp({
    fetcher: (input, init) => {
      const request = new Request(input, init);
      sent.push(`${request.method} ${new URL(request.url).pathname}`);
      return fetch(request);
    },
  });
  const callsOf = async (path: string, options: CallOptions) => {
    sent.length = 0;
    const response = await app.fetch(new Request(`http://api.test${path}`, requestInit(options)));
    await response.body?.cancel();
    return [response.status, ...sent];
  };

  test.each([
    [DEEP, "two, one for the version", ["POST /rest/v1/rpc/service_figures", "POST /rest/v1/rpc/health"]],
    ["/api/metrics", "one", ["POST /rest/v1/rpc/service_figures"]],
  ])("%s → %s; refused without any", async (path, _, calls) => {
    expect(await callsOf(path, withKey())).toEqual([200, ...calls]);
    expect(await callsOf(path, {})).toEqual([401]);
    expect(await callsOf(path, { token: user.token })).toEqual([401]);
  });
});

test.each([DEEP, "/api/metrics"])("%s with the database away → 503 unavailable in the envelope", async (path) => {
  const app = createApiApp({ fetcher: async () => Response.json({ code: "PGRST000" }, { status: 503 }) });
  const { status, error } = await readReply(
    await app.fetch(new Request(`http://api.test${path}`, requestInit(withKey()))),
  );
  expect([status, error?.code]).toEqual([503, "unavailable"]);
});
