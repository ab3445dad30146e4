import { afterEach, expect, test, vi } from "vitest";
import { createKeyframeClient } from "../../client/index.ts";
import { refusal, useScriptedServer } from "../support/client/server.ts";

const server = await useScriptedServer();

const expired = refusal(401, "unauthorized");
const fine = { data: { title: "Harbour" } };
const tokensSent = () => server.seen.map(({ headers }) => headers.authorization);

/** Gives these tokens, one at each question, and counts the questions. */
function tokens(...given: (string | null | Error)[]) {
  let asked = 0;
  const getToken = async () => {
    const token = given[Math.min(asked++, given.length - 1)] ?? null;
    if (token instanceof Error) throw token;
    return token;
  };
  return { getToken, asked: () => asked };
}

test("every request → getToken is asked anew", async () => {
  const keyframe = server.client(tokens("a", "b"));
  server.play(fine, fine);
  await keyframe.readProject("p");
  await keyframe.readProject("p");
  expect(tokensSent()).toEqual(["Bearer a", "Bearer b"]);
});

test("401, and getToken has another token by then → sent once more with that, with no pause", async () => {
  const { getToken } = tokens("old", "new");
  server.play(expired, fine);
  expect(await server.client({ getToken }).readProject("p")).toEqual(fine.data);
  expect([tokensSent(), server.time.pauses]).toEqual([["Bearer old", "Bearer new"], []]);
});

test("a POST with 401 → the same key the second time", async () => {
  const { getToken } = tokens("old", "new");
  server.play(expired, { status: 201, data: {} });
  await server.client({ getToken }).createProject({ title: "a", textPrompt: "b" });
  const [first, second] = server.seen.map(({ headers }) => headers["idempotency-key"]);
  expect(second).toBe(first);
});

test.each([
  ["the token is the same", ["a", "a"], ["Bearer a"]],
  ["signed out meanwhile", ["a", null], ["Bearer a"]],
  ["401 with the fresh token too", ["a", "b", "c"], ["Bearer a", "Bearer b"]],
])("401, and %s → the service's own refusal, nothing more is sent", async (_, given, sent) => {
  server.play(expired, expired, fine);
  const refused = { code: "unauthorized", status: 401, requestId: "request-1" };
  await expect(server.client(tokens(...given)).readProject("p")).rejects.toMatchObject(refused);
  expect(tokensSent()).toEqual(sent);
});

test.each([null, "", "a b", "a\r\nx: y"])(
  "getToken gives %j → unauthorized, nothing sent, nothing repeated",
  async (token) => {
    const { getToken, asked } = tokens(token);
    server.play(fine);
    await expect(server.client({ getToken }).readProject("p")).rejects.toMatchObject({
      code: "unauthorized",
      status: null,
    });
    expect([server.seen, asked()]).toEqual([[], 1]);
  },
);

test("getToken rejects as it cannot refresh, then has one → the answer, after a pause", async () => {
  const { getToken } = tokens(new Error("fetch failed"), "new");
  server.play(fine);
  expect(await server.client({ getToken }).readProject("p")).toEqual(fine.data);
  expect(server.time.pauses).toHaveLength(1);
});

test("getToken always rejects → no_token with its sentence, after the retries", async () => {
  const { getToken, asked } = tokens(new Error("no storage"));
  server.play();
  await expect(server.client({ getToken }).readProject("p")).rejects.toMatchObject({
    code: "no_token",
    cause: "Error: no storage",
  });
  expect([server.seen, asked()]).toEqual([[], 4]);
});

test("getToken throws at once instead of rejecting → the same", async () => {
  const getToken = () => {
    throw new Error("no storage");
  };
  const noToken = { code: "no_token", cause: "Error: no storage" };
  await expect(server.client({ getToken, retries: 0 }).readProject("p")).rejects.toMatchObject(noToken);
});

const userId = "5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11";
const asServer = { url: server.url, secretKey: "sb_secret_of_the_project", userId };

test("secretKey and userId → the key as apikey and as Bearer token, and the user in Keyframe-User", async () => {
  server.play(fine);
  await createKeyframeClient(asServer).readProject("p");
  const { secretKey: apikey } = asServer;
  const given = { apikey, authorization: `Bearer ${apikey}`, "keyframe-user": userId };
  expect(server.seen[0]?.headers).toMatchObject(given);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

test.each([
  ["a page or its worker", { location: new URL("https://page.example") }],
  ["a React Native app", { navigator: { product: "ReactNative" } }],
])("secretKey in %s → TypeError", (_, globals) => {
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  expect(() => createKeyframeClient(asServer)).toThrow(
    new TypeError("secretKey is for servers only: in a browser or an app everybody could read it. Give getToken."),
  );
});

test.each([
  ["a publishable key", { secretKey: "sb_publishable_x" }],
  ["an empty key", { secretKey: "" }],
  ["no user", { userId: "" }],
  ["two users", { userId: `${userId}, ${userId}` }],
])("%s for a server → TypeError without the key", (_, given) => {
  const create = () => createKeyframeClient({ ...asServer, ...given });
  expect(create).toThrow(TypeError);
  expect(create).not.toThrow(/of_the_project/);
});
