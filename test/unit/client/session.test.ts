import { expect, test, vi } from "vitest";
import { systemClock } from "../../../client/clock.ts";
import { createKeyframeClient } from "../../../client/index.ts";
import { hang, refusal, useScriptedServer } from "../../support/client/server.ts";
import { until } from "../../support/until.ts";

const server = await useScriptedServer();

const expired = refusal(401, "unauthorized");
const fine = { data: { title: "Harbour" } };
const tokensSent = () => server.seen.map(({ headers }) => headers.authorization);

/** Gives these tokens, one at each question, and counts the questions. */
function tokens(...given: (string | null)[]) {
  let asked = 0;
  const getToken = async () => given[Math.min(asked++, given.length - 1)] ?? null;
  return { getToken, asked: () => asked };
}

test("401, and getToken has a new token → sent once more with it and the same key, without a pause", async () => {
  const { getToken } = tokens("old", "new");
  server.play(expired, { status: 201, ...fine });
  expect(await server.client({ getToken }).projects.create({ title: "a", textPrompt: "b" })).toEqual(fine.data);
  expect([tokensSent(), server.time.pauses]).toEqual([["Bearer old", "Bearer new"], []]);
  expect(new Set(server.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test.each([
  ["the token is the same", ["a", "a"], ["Bearer a"]],
  ["signed out meanwhile", ["a", null], ["Bearer a"]],
  ["401 with the fresh token too", ["a", "b", "c"], ["Bearer a", "Bearer b"]],
])("401, and %s → the service's refusal, and nothing more is sent", async (_, given, sent) => {
  server.play(expired, expired, fine);
  const refused = { code: "unauthorized", status: 401, requestId: "request-1" };
  await expect(server.client(tokens(...given)).projects.read("p")).rejects.toMatchObject(refused);
  expect(tokensSent()).toEqual(sent);
});

test("401, then no answer with the new token → network, not no_token", async () => {
  server.play(expired, hang);
  const late = server.client({ ...tokens("a", "b"), retries: 0 }).projects.read("p");
  await until("the request is there", () => server.seen.length === 2);
  server.time.endLimits();
  await expect(late).rejects.toMatchObject({ code: "network" });
});

test.each([null, "", "a b", "a\r\nx: y"])(
  "getToken gives %j → unauthorized, nothing sent, nothing repeated",
  async (token) => {
    const { getToken, asked } = tokens(token);
    server.play(fine);
    await expect(server.client({ getToken }).projects.read("p")).rejects.toMatchObject({
      code: "unauthorized",
      status: null,
    });
    expect([server.seen, asked()]).toEqual([[], 1]);
  },
);

test.each(["rejects", "throws"])("getToken always %s → no_token with its sentence, after the retries", async (how) => {
  const getToken = vi.fn(() => {
    if (how === "rejects") return Promise.reject(new Error("no storage"));
    throw new Error("no storage");
  });
  server.play();
  const noToken = { code: "no_token", cause: "Error: no storage" };
  await expect(server.client({ getToken }).projects.read("p")).rejects.toMatchObject(noToken);
  expect(server.seen).toEqual([]);
  expect(getToken).toHaveBeenCalledTimes(4);
  expect(server.time.pauses).toHaveLength(3);
});

const userId = "5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11";
const asServer = { url: server.url, secretKey: "sb_secret_of_the_project", userId };

test("secretKey and userId → the secret key as apikey and Bearer token, and the user in Keyframe-User", async () => {
  server.play(fine);
  await createKeyframeClient(asServer).projects.read("p");
  const { secretKey: apikey } = asServer;
  const given = { apikey, authorization: `Bearer ${apikey}`, "keyframe-user": userId };
  expect(server.seen[0]?.headers).toMatchObject(given);
});

const userKey = `kf_${"0123456789abcdef".repeat(4)}01234567`;

test("userKey → sent as Bearer token, with the publishable key if one is given", async () => {
  server.play(fine);
  await createKeyframeClient({ url: server.url, userKey, apikey: "sb_publishable_1" }).projects.read("p");
  expect(server.seen[0]?.headers).toMatchObject({ authorization: `Bearer ${userKey}`, apikey: "sb_publishable_1" });
  expect(server.seen[0]?.headers).not.toHaveProperty("keyframe-user");
});

test("getToken never answers → no_token with what to do, not a network error", async () => {
  server.play();
  const options = { requestTimeoutMs: 50, retries: 0, clock: systemClock };
  const client = server.client({ getToken: () => new Promise(() => undefined), ...options });
  const refused = client.projects.read("p");
  await expect(refused).rejects.toMatchObject({
    code: "no_token",
    message:
      "getToken did not return in time. Inside onAuthStateChange, supabase-js answers only after your callback has returned: make the call after that.",
  });
  expect(server.seen).toEqual([]);
});
