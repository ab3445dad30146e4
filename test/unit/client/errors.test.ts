import { inspect } from "node:util";
import { expect, test } from "vitest";
import { type KeyframeClient, KeyframeError } from "../../../client/index.ts";
import { ERROR_STATUS } from "../../../shared/http/errors.ts";
import { breakOff, hang, predictionWith, REF, type Turn, useScriptedServer } from "../../support/client/server.ts";
import { until } from "../../support/until.ts";

const server = await useScriptedServer();

async function refused(turn: Turn, options = {}): Promise<KeyframeError> {
  server.play(turn);
  const error = await server
    .client({ retries: 0, ...options })
    .projects.read("p")
    .catch((thrown: unknown) => thrown);
  if (error instanceof KeyframeError) return error;
  throw new Error(`No KeyframeError: ${inspect(error)}`);
}

test.each([
  ...Object.entries(ERROR_STATUS).map(([code, status]) => [code, status, code] as const),
  ["newer_than_the_client", 409, "unknown"] as const,
])("the error %s (%i) → %s in the client, with the same status, sentence and requestId", async (sent, status, code) => {
  const error = await refused({ status, error: { code: sent, message: "Do this.", requestId: "r-1" } });
  const said = { name: "KeyframeError", message: "Do this.", requestId: "r-1", details: [] };
  expect(error).toMatchObject({ code, status, ...said });
});

test("invalid_request → the fields in details; anything that is not a detail is left out", async () => {
  const details = [{ path: "title", message: "Must not be empty." }, null, { path: 1 }];
  const error = await refused({
    status: 400,
    error: { code: "invalid_request", message: "No.", details, requestId: "r" },
  });
  expect(error.details).toEqual([{ path: "title", message: "Must not be empty." }]);
});

test("invalid fields → the message, which may be all that a log has, names each and its mistake, ten at most", async () => {
  const refusedFor = async (details: object[]) =>
    String(await refused({ status: 400, error: { code: "invalid_request", message: "No.", details, requestId: "r" } }));
  const title = { path: "title", message: "Must not be empty." };
  const whole = { path: "", message: "Must have a field." };
  expect(await refusedFor([title, whole])).toBe("KeyframeError: No. title: Must not be empty. Must have a field.");
  expect(await refusedFor(Array(12).fill(title))).toMatch(
    /^KeyframeError: No\.( title: Must not be empty\.){10} And 2 more\.$/,
  );
});

test("budget_exceeded → the error has the budget; any other error has none", async () => {
  const budget = { scope: "service", period: "day", estimateMicros: 67_000, resetsAt: "2026-03-02T00:00:00.000Z" };
  const sent = (code: string) => ({ status: 402, error: { code, message: "Wait.", budget, requestId: "r" } });
  expect((await refused(sent("budget_exceeded"))).budget).toEqual(budget);
  expect((await refused(sent("spending_stopped"))).budget).toBeNull();
});

test.each([
  ["7", 7],
  ["0", 0],
  [new Date(Date.UTC(2026, 2, 1, 0, 0, 90)).toUTCString(), 90],
  [new Date(0).toUTCString(), 0],
  ["soon", null],
  ["-5", null],
])("Retry-After: %s → retryAfterSeconds %s", async (header, seconds) => {
  const turn = { status: 429, headers: { "retry-after": header }, error: { code: "rate_limited", message: "Slower." } };
  expect((await refused(turn)).retryAfterSeconds).toBe(seconds);
});

test.each<[what: string, turn: Turn, status: number]>([
  ["a web page", { text: "<h1>It works!</h1>" }, 200],
  ["a gateway's page", { status: 504, text: "<h1>504</h1>" }, 504],
  ["a gateway's JSON", { status: 546, text: '{"code":"WORKER_LIMIT","message":"no"}' }, 546],
  ["nothing", { text: "" }, 200],
  ["JSON that is cut short", { text: '{"success":true,"data":{' }, 200],
  ["null", { text: "null" }, 200],
  ["an array", { text: "[]" }, 200],
  ["success without data", { text: '{"success":true}' }, 200],
  ["data of no kind the contract has", { data: "ok" }, 200],
  ["success as a word", { text: '{"success":"true","data":{}}' }, 200],
  ["200 and a refusal", { status: 200, error: { code: "internal", message: "no" } }, 200],
  ["500 and success", { status: 500, data: {} }, 500],
  ["a refusal without a sentence", { status: 400, text: '{"success":false,"error":{"code":"internal"}}' }, 400],
])(
  "an answer that is %s → not_an_envelope, with its status and the requestId of its header",
  async (_, turn, status) => {
    const error = await refused(typeof turn === "function" ? turn : { ...turn, headers: { "x-request-id": "r-2" } });
    expect(error).toMatchObject({ code: "not_an_envelope", status, requestId: "r-2" });
  },
);

test.each<[what: string, turn: Turn, options?: object]>([
  ["an answer that breaks off", breakOff],
  ["a connection that is cut", (response) => response.destroy()],
  ["nothing that listens", hang, { url: "http://127.0.0.1:1" }],
])("%s → the error network, without a status", async (_, turn, options) => {
  const error = await refused(turn, options);
  expect(error).toMatchObject({ code: "network", status: null, requestId: null });
  expect(error.message).toContain("GET /projects/p");
});

test("no answer in time → a network error, and the request is aborted", async () => {
  let cut = false;
  const close = () => {
    cut = true;
  };
  server.play((response) => response.on("close", close));
  const call = server.client({ retries: 0 }).projects.read("p");
  await until("the request is there", () => server.seen.length === 1);
  server.time.endLimits();
  await expect(call).rejects.toMatchObject({ code: "network", message: "No answer arrived within 30 s. Try again." });
  await until("the connection is cut", () => cut);
});

const tagged: Turn = { headers: { etag: 'W/"a"', "retry-after": "1" }, data: predictionWith() };
type SignalledCall = (client: KeyframeClient, signal: AbortSignal) => Promise<unknown>;
test.each<[what: string, seconds: number, call: SignalledCall, ...before: Turn[]]>([
  ["a read", 30, (client, signal) => client.projects.read("p", { signal })],
  ["an upload, which may be slow", 300, (client, signal) => client.uploadReferenceImage(new Uint8Array(1), { signal })],
  ["a read that is held", 35, (client, signal) => client.predictions.read(REF, { signal, wait: 5 })],
  ["a start that is held", 55, (client, signal) => client.generate("video", { projectId: "p" }, { signal, wait: 25 })],
  ["a look of waitFor", 30, (client, signal) => client.waitFor(REF, { signal })],
  ["a look with little time left", 5, (client, signal) => client.waitFor(REF, { signal, timeoutMs: 5000 })],
  ["a look with no time left", 1, (client, signal) => client.waitFor(REF, { signal, timeoutMs: 0 })],
  ["a look that is held", 55, (client, signal) => client.waitFor(REF, { signal }), tagged],
])("the time limit of %s → %i s", async (_, seconds, call, ...before) => {
  server.play(...before, hang);
  const abort = new AbortController();
  const made = call(server.client(), abort.signal);
  await until("the request is there", () => server.left() === 0);
  expect(server.time.underWay()).toEqual([seconds * 1000]);
  abort.abort("enough");
  await expect(made).rejects.toBe("enough");
});

test("a call that fails in any way → no part of the error has the token", async () => {
  const token = "secret-token-1";
  const fetch = (_: string, init: RequestInit) =>
    Promise.reject(Object.assign(new Error(`cannot send ${JSON.stringify(init.headers)}`), { init }));
  const errors = [
    await refused({ status: 401, error: { code: "unauthorized", message: "no" } }, { getToken: () => token }),
    await refused(breakOff, { getToken: () => token }),
    await refused(hang, { getToken: () => token, fetch }),
    await refused(hang, { getToken: () => `${token}\nX: y` }),
    await refused(hang, { getToken: () => `${token} ü` }),
  ];
  for (const error of errors) {
    const shown = inspect(error, { depth: 9, showHidden: true });
    expect(`${shown} ${JSON.stringify(error)} ${error.cause} ${error.stack}`).not.toContain(token);
  }
  const codes = ["unauthorized", "network", "network", "unauthorized", "unauthorized"];
  expect(errors.map(({ code }) => code)).toEqual(codes);
});
