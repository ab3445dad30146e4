import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Clock, systemClock } from "../../../client/clock.ts";
import type { KeyframeClient } from "../../../client/index.ts";
import { hang, predictionWith, REF, refusal, type Turn, useScriptedServer } from "../../support/client/server.ts";
import { until } from "../../support/until.ts";

const server = await useScriptedServer();

const reason = new Error("The page was left.");

const CALLS: [name: string, call: (client: KeyframeClient, signal: AbortSignal) => Promise<unknown>][] = [
  ["a GET", (client, signal) => client.projects.read("p", { signal })],
  ["a POST", (client, signal) => client.projects.create({ title: "a", textPrompt: "b" }, { signal })],
  ["an upload", (client, signal) => client.uploadReferenceImage(new Uint8Array(9), { signal })],
  ["a page of many", (client, signal) => client.projects.each({}, { signal }).next()],
  ["waitFor", (client, signal) => client.waitFor(REF, { signal })],
  ["a delivery's redelivery", (client, signal) => client.webhooks.redeliver("d", { signal })],
];

const startOfAnswer: Turn = (response) => {
  response.writeHead(200, { "content-length": "1000" });
  response.write("{");
};

test.each(CALLS)("%s, aborted before it is called → the reason, nothing sent, no token requested", async (_, call) => {
  server.play();
  const getToken = vi.fn(() => "token-1");
  await expect(call(server.client({ getToken }), AbortSignal.abort(reason))).rejects.toBe(reason);
  expect([server.seen, getToken.mock.calls]).toEqual([[], []]);
});

test.each(CALLS)("%s, aborted while getToken is under way → the reason, nothing sent", async (_, call) => {
  server.play();
  const abort = new AbortController();
  const asked = Promise.withResolvers<void>();
  const getToken = () => {
    asked.resolve();
    return new Promise<string>(() => undefined);
  };
  const made = call(server.client({ getToken }), abort.signal);
  await asked.promise;
  abort.abort(reason);
  await expect(made).rejects.toBe(reason);
  expect([server.seen.length, server.time.underWay()]).toEqual([0, []]);
});

test.each(
  CALLS.flatMap(([name, call]) => [
    [name, "waiting for the answer", hang, call] as const,
    [name, "reading it", startOfAnswer, call] as const,
  ]),
)("%s, aborted while %s → the reason, the connection closed, nothing repeated", async (_name, _when, turn, call) => {
  let cut = false;
  server.play((response, request) => {
    response.on("close", () => {
      cut = true;
    });
    if (typeof turn === "function") turn(response, request);
  });
  const abort = new AbortController();
  const made = call(server.client(), abort.signal);
  await until("the request is there", () => server.seen.length === 1);
  abort.abort(reason);
  await expect(made).rejects.toBe(reason);
  await until("the connection is cut", () => cut);
  expect(server.seen).toHaveLength(1);
  expect(server.time.pauses).toEqual([]);
  expect(server.time.underWay()).toEqual([]);
});

/**
 * Aborts in the pause after this answer, by the clock that apps have: the one of the scripted server ends each pause by itself.
 * Its pauses are a thousand times as long: a call that sleeps on does not end within the test's time.
 */
async function abortInPause(turn: Turn, call: (client: KeyframeClient, signal: AbortSignal) => Promise<unknown>) {
  const abort = new AbortController();
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      if (ms > 0) setTimeout(() => abort.abort(reason));
      return systemClock.sleep(1_000 * ms, signal);
    },
  };
  server.play(turn);
  await expect(call(server.client({ clock }), abort.signal)).rejects.toBe(reason);
  expect(server.seen).toHaveLength(1);
}

test.each(CALLS)(
  "%s, aborted in the pause after a failure → the reason, not the failure, and no second request",
  (_, call) => abortInPause(refusal(503, "unavailable", { "retry-after": "30" }), call),
);

test("waitFor, aborted in the pause between two polls → the reason", async () => {
  const turn = { data: predictionWith(), headers: { "retry-after": "30" } };
  await abortInPause(turn, (client, signal) => client.waitFor(REF, { signal }));
});

test("waitFor of a known or ended prediction, aborted before → the reason, and no call of onProgress", async () => {
  let told = 0;
  const onProgress = () => void told++;
  for (const status of ["starting", "succeeded"] as const) {
    const wait = server.client().waitFor(predictionWith({ status }), { signal: AbortSignal.abort(reason), onProgress });
    await expect(wait).rejects.toBe(reason);
  }
  expect(told).toBe(0);
});

test("waitFor, aborted by onProgress → the reason", async () => {
  const abort = new AbortController();
  server.play({ data: predictionWith() });
  const wait = server.client().waitFor(REF, { signal: abort.signal, onProgress: () => abort.abort(reason) });
  await expect(wait).rejects.toBe(reason);
});

test("a fetch that ignores its signal → the call ends all the same", async () => {
  const abort = new AbortController();
  const fetch = () => {
    queueMicrotask(() => abort.abort());
    return new Promise<Response>(() => undefined);
  };
  const made = server.client({ fetch }).projects.read("p", { signal: abort.signal });
  await expect(made).rejects.toMatchObject({ name: "AbortError" }); // as fetch has it for an abort() without a reason
});

test("one signal for a thousand calls → no listener stays on it", async () => {
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  server.play({ data: {} }, refusal(404, "not_found"), refusal(503, "unavailable"), { data: {} });
  const client = server.client();
  await client.projects.read("p", { signal });
  await client.projects.read("p", { signal }).catch(() => undefined);
  await client.projects.read("p", { signal });
  expect(added.mock.calls.length).toBeGreaterThan(0);
  expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
});

describe("the client's clock", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("a sleep of the client's clock → ends when its time has passed; 30 days, or endless → not after a minute", async () => {
    const over = vi.fn();
    systemClock.sleep(12_345, undefined).then(() => over("short"));
    systemClock.sleep(30 * 86_400_000, undefined).then(() => over("long"));
    systemClock.after(Number.POSITIVE_INFINITY, () => over("endless"));
    await vi.advanceTimersByTimeAsync(12_344);
    expect(over).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(over.mock.calls).toEqual([["short"]]);
    vi.clearAllTimers();
  });

  test("a sleep that is aborted, before or while asleep → the reason at once, no timer and no listener left", async () => {
    const abort = new AbortController();
    const removed = vi.spyOn(abort.signal, "removeEventListener");
    const sleeps = [
      systemClock.sleep(9_000, AbortSignal.abort(reason)),
      systemClock.sleep(9_000, abort.signal),
      systemClock.sleep(1_000, abort.signal).then(() => Promise.reject("slept")),
    ];
    const ends = Promise.allSettled(sleeps);
    await vi.advanceTimersByTimeAsync(6_000);
    expect(removed).toHaveBeenCalledTimes(1);
    abort.abort(reason);
    expect((await ends).map((end) => "reason" in end && end.reason)).toEqual([reason, reason, "slept"]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
