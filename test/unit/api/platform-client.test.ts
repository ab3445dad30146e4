import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createDatabase } from "../../../shared/api/data/database.ts";
import { createPlatformClient } from "../../../shared/api/data/platform-client.ts";
import { PREDICTION, PROJECT, predictionRow, rate, signedFiles, startApi, succeededFields } from "./fixture.ts";
import { serveKeptAlive } from "../generate/fixture.ts";

const URL_OF_PROJECT = "https://p.example";
const callerWith = (token: string | null) => ({ ownerId: null, token });
type Sent = { authorization: string | null; apikey: string | null };

/** The API's database, and what reached the platform, which answers the first request last. */
function setUp(count: number) {
  const sent: Sent[] = [];
  const all = Promise.withResolvers<void>();
  const platform: typeof fetch = async (_input, init) => {
    const headers = new Headers(init?.headers);
    sent.push({ authorization: headers.get("authorization"), apikey: headers.get("apikey") });
    if (sent.length === count) all.resolve();
    await all.promise;
    return Response.json(headers.get("authorization"));
  };
  const client = createPlatformClient(URL_OF_PROJECT, "sb_publishable_x", platform);
  return { database: createDatabase(client), sent };
}

test("calls of several callers at once through one client → each has its own caller's token", async () => {
  const tokens = ["token-a", null, "sb_secret_x", "token-b", null];
  const { database, sent } = setUp(tokens.length);
  const answers = await Promise.all(tokens.map((token) => database.call("echo", {}, callerWith(token), z.string())));
  const expected = tokens.map((token) => `Bearer ${token ?? "sb_publishable_x"}`);
  expect(answers).toEqual(expected);
  expect(sent.map(({ authorization }) => authorization)).toEqual(expected);
  // A key is no JWT: the platform takes it as Authorization only where apikey says the same.
  expect(sent.map(({ apikey }) => apikey)).toEqual(
    tokens.map((token) => (token === "sb_secret_x" ? token : "sb_publishable_x")),
  );
});

test.each([
  ["changes something → it is not sent again, for it may have been done", "call", 1],
  ["only reads → it may be sent again on another one", "read", 2],
] as const)("a kept-alive connection closes under a call that %s", async (_what, kind, most) => {
  const server = await serveKeptAlive();
  const database = createDatabase(createPlatformClient(server.url, "sb_publishable_x", fetch));
  for (let round = 0; round < 5; round++) {
    await database.read("read_warm", {}, callerWith("token-a"), z.unknown()); // leaves its connection to the next one
    await expect(database[kind]("drop", {}, callerWith("token-a"), z.unknown())).rejects.toMatchObject({
      code: "unavailable",
    });
  }
  expect(server.requests.filter((request) => request.startsWith("POST /rest/v1/rpc/drop "))).toHaveLength(5 * most);
});

test("too many open calls of the owner → the database is asked again after 50 ms, then twice as long, six times in all", async () => {
  const hint = JSON.stringify({ policy: "calls", limit: 6, window_seconds: 1, wait_seconds: 1 });
  const refusal = { code: "KEYFR", message: "rate_limited", details: "Too many calls.", hint };
  let refusals = 2;
  const platform: typeof fetch = async () =>
    refusals-- > 0 ? Response.json(refusal, { status: 400 }) : Response.json("done");
  const pauses: number[] = [];
  const sleep = async (ms: number) => void pauses.push(ms);
  const database = createDatabase(createPlatformClient(URL_OF_PROJECT, "sb_publishable_x", platform), { sleep });
  const call = () => database.call("echo", {}, callerWith("token-a"), z.string());
  expect(await call()).toBe("done");
  expect(pauses.splice(0)).toEqual([50, 100]);
  refusals = 6;
  await expect(call()).rejects.toMatchObject({ code: "rate_limited" });
  expect([refusals, pauses]).toEqual([0, [50, 100, 200, 400, 800]]);
});

test("an owner's rate is used up → this function's calls are refused without the database until a token is back; others not", async () => {
  // A token each 50 ms, and each 1,000 s: then the database is asked again after a second, for an administrator may have raised the limit.
  const rates = { read_film: { limit: 1200, window_seconds: 60 }, list_films: { limit: 3, window_seconds: 3000 } };
  const asked: string[] = [];
  const platform: typeof fetch = async (input) => {
    const name = new URL(String(input)).pathname.split("/").at(-1) ?? "";
    asked.push(name);
    const hint = JSON.stringify({ policy: "read", wait_seconds: 7, ...rates[name as keyof typeof rates] });
    return Response.json({ code: "KEYFR", message: "rate_limited", details: "Too many.", hint }, { status: 400 });
  };
  let at = 0;
  const database = createDatabase(createPlatformClient(URL_OF_PROJECT, "sb_publishable_x", platform), {
    elapsed: () => at,
  });
  const reach = async (name: keyof typeof rates, args = {}, ownerId: string | null = "anna") => {
    const call = database.read(name, args, { ownerId, token: "token-a" }, z.string());
    await expect(call).rejects.toMatchObject({ code: "rate_limited", extra: { headers: { "Retry-After": "7" } } });
    return asked.splice(0).length > 0;
  };
  expect([await reach("read_film"), await reach("read_film")]).toEqual([true, false]);
  expect([await reach("list_films"), await reach("list_films")]).toEqual([true, false]);
  for (const others of [{ waiting: true }, { idempotency_key: "k" }])
    expect(await reach("read_film", others)).toBe(true);
  for (const owner of ["berta", null, null]) expect(await reach("read_film", {}, owner)).toBe(true);
  at = 51;
  expect([await reach("read_film"), await reach("list_films")]).toEqual([true, false]);
  at = 1_001;
  expect(await reach("list_films")).toBe(true);
});

describe("connections to the platform", async () => {
  let refuses = false;
  const api = await startApi((request) => {
    if (refuses) return Response.json({ code: "PGRST000", message: "away" }, { status: 503 });
    return request.path.startsWith("/storage/")
      ? signedFiles(request)
      : Response.json({ prediction: predictionRow(succeededFields), rate });
  });
  afterAll(api.stop);
  beforeEach(() => {
    refuses = false;
    api.seen.length = 0;
  });

  const read = () => api.call(`/api/projects/generate/first-frame?projectId=${PROJECT}&predictionId=${PREDICTION}`);
  const start = () => api.post("/api/projects/generate/first-frame", { projectId: PROJECT });
  const connections = () => new Set(api.seen.map(({ connection }) => connection)).size;

  test("requests one after the other, refused ones too → one connection", async () => {
    for (let round = 0; round < 20; round++) {
      expect([(await read()).status, (await start()).status]).toEqual([200, 202]);
    }
    refuses = true; // refusals are read to their end, too
    for (let round = 0; round < 20; round++) expect((await (round % 2 ? read : start)()).status).toBe(503);
    expect([api.seen.length, connections()]).toEqual([100, 1]);
  });

  test("8 requests at a time → about 8 connections, not one for each request", async () => {
    const worker = async () => {
      for (let round = 0; round < 8; round++) expect((await read()).status).toBe(200);
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    expect(api.seen.length).toBe(128);
    // On a busy machine a request can come before the connection of the last one is free again.
    expect(connections()).toBeLessThan(api.seen.length / 4);
  });
});
