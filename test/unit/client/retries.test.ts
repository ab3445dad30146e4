import { expect, test } from "vitest";
import { breakOff, REF, refusal, type Turn, useScriptedServer } from "../../support/client/server.ts";

const server = await useScriptedServer();

const away = refusal(503, "unavailable", { "retry-after": "3" });
const fine: Turn = { data: { ...REF } };
const project = { title: "Harbour", textPrompt: "A harbour" };
const cut: Turn = (response) => response.destroy();

test.each<[what: string, turn: Turn]>([
  ["503", away],
  ["429", refusal(429, "rate_limited", { "retry-after": "3" })],
  ["408, its body having stalled", refusal(408, "request_timeout")],
  ["a gateway's 502", { status: 502, text: "<h1>502</h1>" }],
  ["a gateway's 504", { status: 504, text: "<h1>504</h1>" }],
  ["a gateway's 520", { status: 520, text: "<h1>520</h1>" }],
  ["a gateway's 530", { status: 530, text: "error code: 1033" }],
  ["a worker out of memory", { status: 546, text: '{"code":"WORKER_LIMIT","message":"no"}' }],
  ["an answer that breaks off", breakOff],
  ["a connection that is cut", cut],
])("GET: %s, then 200 → the answer, after one pause", async (_, turn) => {
  server.play(turn, fine);
  expect(await server.client().readProject("p")).toEqual({ ...REF });
  expect([server.seen.length, server.time.pauses.length]).toEqual([2, 1]);
});

test.each<[what: string, turn: Turn]>([
  ["400", refusal(400, "invalid_request")],
  ["404", refusal(404, "not_found")],
  ["409", refusal(409, "frame_not_ready", { "retry-after": "1" })],
  ["422", refusal(422, "unsupported_input")],
  ["500", refusal(500, "internal")],
  ["501", { status: 501, text: "<h1>501</h1>" }],
  ["a page of another user", { text: "<h1>Log in to this network</h1>" }],
])("%s → thrown at once, nothing repeated", async (_, turn) => {
  server.play(turn, fine);
  await expect(server.client().readProject("p")).rejects.toThrow();
  expect([server.seen.length, server.time.pauses]).toEqual([1, []]);
});

test("POST: a gateway that gives up, a lost answer, 429, then 201 → one key and one body in all four", async () => {
  const gaveUp: Turn = { status: 524, text: "<h1>524</h1>" };
  server.play(gaveUp, breakOff, refusal(429, "rate_limited"), { status: 201, data: { ...REF } });
  await server.client().createProject(project);
  expect(server.seen).toHaveLength(4);
  expect(new Set(server.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
  expect(new Set(server.seen.map(({ body }) => new TextDecoder().decode(body)))).toEqual(
    new Set([JSON.stringify(project)]),
  );
});

test("an upload that is cut → the same bytes again, with the same key", async () => {
  server.play(cut, { status: 201, data: { referenceImagePath: "projects/a.png" } });
  await server.client().uploadReferenceImage(new Uint8Array([1, 2, 3]));
  expect(server.seen.map(({ body }) => [...body])).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  expect(new Set(server.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
});

test("PATCH: a lost answer → sent again, for it sets the same fields", async () => {
  server.play(breakOff, fine);
  await server.client().changeProject("p", { title: "b" });
  expect(server.seen).toHaveLength(2);
});

test.each<[what: string, turn: Turn, requests: number]>([
  ["a lost answer", breakOff, 1],
  ["503", away, 1],
  ["a gateway's 524", { status: 524, text: "<h1>524</h1>" }, 1],
  ["429, which did nothing", refusal(429, "rate_limited"), 2],
])("DELETE: %s → repeated only where the first one surely did nothing", async (_, turn, requests) => {
  server.play(turn, fine);
  await server
    .client()
    .webhooks.delete("w")
    .catch(() => undefined);
  expect(server.seen).toHaveLength(requests);
});

test("Retry-After → never asked earlier, whatever chance says", async () => {
  for (const random of [() => 0, () => 0.999]) {
    server.play(away, away, fine);
    await server.client({ random }).readProject("p");
    for (const pause of server.time.pauses) {
      expect(pause).toBeGreaterThanOrEqual(3000);
      expect(pause).toBeLessThan(3500);
    }
    expect(server.time.pauses).toHaveLength(2);
  }
});

test("without Retry-After → pauses that double, spread by chance over their half", async () => {
  const pausesAt = async (chance: number) => {
    server.play(cut, cut, cut, fine);
    await server.client({ random: () => chance }).readProject("p");
    return [...server.time.pauses];
  };
  expect(await pausesAt(0)).toEqual([250, 500, 1000]);
  expect(await pausesAt(0.5)).toEqual([375, 750, 1500]);
});

test("a Retry-After of minutes → thrown at once with the seconds, instead of an hour's silence", async () => {
  server.play(refusal(429, "rate_limited", { "retry-after": "3600" }), fine);
  await expect(server.client().readProject("p")).rejects.toMatchObject({
    code: "rate_limited",
    retryAfterSeconds: 3600,
  });
  expect([server.seen.length, server.time.pauses]).toEqual([1, []]);
});

test.each([0, 1, 3])("retries: %i → so many repetitions, then the last refusal", async (retries) => {
  server.play(...Array.from({ length: 9 }, () => away));
  await expect(server.client({ retries }).readProject("p")).rejects.toMatchObject({
    code: "unavailable",
    requestId: "request-1",
  });
  expect(server.seen).toHaveLength(retries + 1);
});
