import { expect, test } from "vitest";
import type { KeyframeClient } from "../../../client/index.ts";
import { breakOff, REF, refusal, type Turn, useScriptedServer } from "../../support/client/server.ts";

const server = await useScriptedServer();

const away = refusal(503, "unavailable", { "retry-after": "3" });
const fine: Turn = { data: { ...REF } };
const project = { title: "Harbour", textPrompt: "A harbour" };
const cut: Turn = (response) => response.destroy();

const page = (status: number): Turn => ({ status, text: `<h1>${status}</h1>` });
const CALLS = {
  GET: (client: KeyframeClient) => client.projects.read("p"),
  PATCH: (client: KeyframeClient) => client.projects.change("p", { title: "b" }),
  DELETE: (client: KeyframeClient) => client.webhooks.delete("w"),
};

test.each<[method: keyof typeof CALLS, what: string, turn: Turn, requests: number]>([
  ["GET", "503", away, 2],
  ["GET", "429", refusal(429, "rate_limited", { "retry-after": "3" }), 2],
  ["GET", "408, its body having stalled", refusal(408, "request_timeout"), 2],
  ["GET", "a gateway's 502", page(502), 2],
  ["GET", "a gateway's 504", page(504), 2],
  ["GET", "a gateway's 520", page(520), 2],
  ["GET", "a gateway's 530", page(530), 2],
  ["GET", "a worker out of memory", { status: 546, text: '{"code":"WORKER_LIMIT","message":"no"}' }, 2],
  ["GET", "an answer that breaks off", breakOff, 2],
  ["GET", "a connection that is cut", cut, 2],
  ["GET", "400", refusal(400, "invalid_request"), 1],
  ["GET", "404", refusal(404, "not_found"), 1],
  ["GET", "409", refusal(409, "frame_not_ready", { "retry-after": "1" }), 1],
  ["GET", "422", refusal(422, "unsupported_input"), 1],
  ["GET", "500", refusal(500, "internal"), 1],
  ["GET", "501", page(501), 1],
  ["GET", "a page of another user", page(200), 1],
  ["PATCH", "a lost answer, for it sets the same fields", breakOff, 2],
  // Repeated only where the first one surely did nothing.
  ["DELETE", "a lost answer", breakOff, 1],
  ["DELETE", "503", away, 1],
  ["DELETE", "a gateway's 524", page(524), 1],
  ["DELETE", "429", refusal(429, "rate_limited"), 2],
])("%s: %s, then 200 → the answer after one pause, or thrown at once if a repetition is useless", async (...row) => {
  const [method, , turn, requests] = row;
  server.play(turn, fine);
  const made = CALLS[method](server.client());
  if (requests === 2) expect(await made).toEqual({ ...REF });
  else await expect(made).rejects.toThrow();
  expect([server.seen.length, server.time.pauses.length]).toEqual([requests, requests - 1]);
});

test("POST: a gateway timeout, a lost answer, 429, then 201 → one key and one body in all four", async () => {
  server.play(page(524), breakOff, refusal(429, "rate_limited"), { status: 201, data: { ...REF } });
  await server.client().projects.create(project);
  expect(server.seen).toHaveLength(4);
  expect(new Set(server.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  expect(new Set(server.seen.map(({ body }) => new TextDecoder().decode(body)))).toEqual(
    new Set([JSON.stringify(project)]),
  );
});

test("an upload that is cut off → the same bytes again, with the same key", async () => {
  server.play(cut, { status: 201, data: { referenceImagePath: "projects/a.png" } });
  await server.client().uploadReferenceImage(new Uint8Array([1, 2, 3]));
  expect(server.seen.map(({ body }) => [...body])).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  expect(new Set(server.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("Retry-After → no repetition before it, whatever the random delay", async () => {
  for (const random of [() => 0, () => 0.999]) {
    server.play(away, away, fine);
    await server.client({ random }).projects.read("p");
    for (const pause of server.time.pauses) {
      expect(pause).toBeGreaterThanOrEqual(3000);
      expect(pause).toBeLessThan(3500);
    }
    expect(server.time.pauses).toHaveLength(2);
  }
});

test("repetitions without Retry-After → pauses that double, each spread by chance over its upper half", async () => {
  const pausesAt = async (chance: number) => {
    server.play(cut, cut, cut, fine);
    await server.client({ random: () => chance }).projects.read("p");
    return [...server.time.pauses];
  };
  expect(await pausesAt(0)).toEqual([250, 500, 1000]);
  expect(await pausesAt(0.5)).toEqual([375, 750, 1500]);
});

test("a Retry-After of minutes → thrown at once with the seconds, instead of a long silence", async () => {
  server.play(refusal(429, "rate_limited", { "retry-after": "3600" }), fine);
  await expect(server.client().projects.read("p")).rejects.toMatchObject({
    code: "rate_limited",
    retryAfterSeconds: 3600,
  });
  expect([server.seen.length, server.time.pauses]).toEqual([1, []]);
});

test.each([0, 1, 3])("retries: %i → that many repetitions, then the last refusal", async (retries) => {
  server.play(...Array.from({ length: 9 }, () => away));
  await expect(server.client({ retries }).projects.read("p")).rejects.toMatchObject({
    code: "unavailable",
    requestId: "request-1",
  });
  expect(server.seen).toHaveLength(retries + 1);
});
