import { afterEach, expect, test } from "vitest";
import { startSimulator } from "../../local/simulator/start-simulator.ts";
import {
  createProvider,
  type NewRun,
  type Provider,
} from "../../supabase/functions/keyframe-generate/provider/provider.ts";
import type { ProviderError } from "../../supabase/functions/keyframe-generate/provider/provider-error.ts";
import { createVerdict } from "../../supabase/functions/keyframe-generate/provider/provider-verdict.ts";
import { never, serve, serveKeptAlive, serveRaw } from "./generate-fixture.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const PREDICTION = "0d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a01";
const NEW_RUN: NewRun = {
  model: "google/nano-banana",
  input: { prompt: "A cat" },
  cancelAfterSeconds: 60,
  webhook: null,
};
const AT = Date.parse("2026-01-02T03:04:05Z");

/** A provider that answers everything alike, and counts. */
function answering(handler: (request: Request) => Response | Promise<Response>, timeoutMs = 5000) {
  const requests: Request[] = [];
  const server = serve((request) => {
    requests.push(request);
    return handler(request);
  });
  ends.push(server.stop);
  const provider = createProvider({
    token: "r8_test",
    baseUrl: `${server.url}/v1`,
    fetch,
    now: () => AT,
    timeoutMs,
  });
  return { provider, requests };
}

async function failureOf(call: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await call.then(
    () => new Error("it worked"),
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: "ProviderError" });
  return error as ProviderError; // its name says so
}

const calls: [string, (provider: Provider) => Promise<unknown>][] = [
  ["create", (provider) => provider.create(NEW_RUN, never())],
  ["get", (provider) => provider.get("abc", never())],
  ["cancel", (provider) => provider.cancel("abc", never())],
  ["list", (provider) => provider.list(new Date(AT), null, never())],
  ["upload", (provider) => provider.upload(new File(["x"], "x.png"), PREDICTION, never())],
  ["uploadedFor", (provider) => provider.uploadedFor("https://api.replicate.com/v1/files/abc", never())],
];

for (const [name, call] of calls) {
  test.each([429, 500, 502, 503])(`${name} answered %i → one request, no repetition by the SDK`, async (status) => {
    const { provider, requests } = answering(() => Response.json({ detail: "no" }, { status }));
    expect(await failureOf(call(provider))).toMatchObject({ status, explanation: "no" });
    expect(requests).toHaveLength(1);
  });

  test.each([
    ["before its answer", ""],
    ["within its answer", 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"id":'],
  ])(`${name} whose connection breaks %s → one request, no answer`, async (_when, bytes) => {
    const server = serveRaw(bytes);
    ends.push(server.stop);
    const provider = createProvider({ token: "r8_test", baseUrl: `${server.url}/v1`, fetch, now: () => AT });
    expect(await failureOf(call(provider))).toMatchObject({ status: null });
    expect(server.connections()).toBe(1);
  });
}

test("a call that is never answered → given up after the bound, one request", async () => {
  const answer = Promise.withResolvers<Response>();
  const { provider, requests } = answering(() => answer.promise, 3000);
  const failures = await Promise.all(calls.map(([, call]) => failureOf(call(provider))));
  answer.resolve(new Response());
  expect(failures.map(({ status }) => status)).toEqual(calls.map(() => null));
  expect(requests).toHaveLength(calls.length);
});

test("a kept-alive connection closes under a create → the create is not sent again on another one", async () => {
  const server = serveKeptAlive();
  ends.push(server.stop);
  const provider = createProvider({ token: "t", baseUrl: `${server.url}/v1`, fetch, now: () => AT });
  for (let round = 0; round < 5; round++) {
    await provider.create(NEW_RUN, never());
    await provider.get("abc", never()); // time for the connection to go back to its pool, if there were one
    const lost = provider.create({ ...NEW_RUN, model: "drop/it" }, never());
    expect(await failureOf(lost)).toMatchObject({ status: null });
  }
  expect(server.requests.filter((request) => request.includes("drop"))).toHaveLength(5);

  // What would happen with a plain fetch; when this fails, Deno has changed and `unrepeatable` may go.
  await (await fetch(`${server.url}/warm`)).text();
  await expect(fetch(`${server.url}/drop`, { method: "POST", body: "{}" })).rejects.toThrow();
  expect(server.requests.filter((request) => request === "POST /drop")).toHaveLength(2);
});

test("create without a listener → no answer", async () => {
  const provider = createProvider({ token: "t", baseUrl: "http://127.0.0.1:1/v1", fetch, now: () => AT });
  expect(await failureOf(provider.create(NEW_RUN, never()))).toMatchObject({ status: null });
});

test("create whose task is over → no answer", async () => {
  const { provider } = answering(() => Response.json({ id: "abc", status: "starting" }));
  expect(await failureOf(provider.create(NEW_RUN, AbortSignal.abort()))).toMatchObject({ status: null });
});

test.each([
  ["another shape", Response.json({ hello: "world" })],
  ["no JSON", new Response("<html>")],
  ["half its JSON", new Response('{"id":"abc","st')],
])("create answered with %s → counts as no answer, for it may have been done", async (_name, response) => {
  const { provider } = answering(() => response);
  expect(await failureOf(provider.create(NEW_RUN, never()))).toMatchObject({ status: null });
});

test("create answered with a redirect → not followed, the token goes nowhere else", async () => {
  const { provider, requests } = answering((request) => Response.redirect(new URL("/v1/elsewhere", request.url)));
  expect(await failureOf(provider.create(NEW_RUN, never()))).toMatchObject({ status: 302 });
  expect(requests).toHaveLength(1);
});

test("create → model in the path, token, Cancel-After, callback only when there is an address", async () => {
  const bodies: unknown[] = [];
  const heads: unknown[] = [];
  const { provider } = answering(async (request) => {
    const { headers, url } = request;
    heads.push([new URL(url).pathname, headers.get("authorization"), headers.get("cancel-after")]);
    bodies.push(await request.json());
    return Response.json({ id: "abc", status: "starting" }, { status: 201 });
  });
  await provider.create(NEW_RUN, never());
  const run = await provider.create({ ...NEW_RUN, webhook: "https://k.test/hook?prediction=1" }, never());
  expect(run).toMatchObject({ id: "abc", status: "starting" });
  expect(heads[0]).toEqual(["/v1/models/google/nano-banana/predictions", "Bearer r8_test", "60s"]);
  expect(bodies).toEqual([
    { input: { prompt: "A cat" } },
    {
      input: { prompt: "A cat" },
      webhook: "https://k.test/hook?prediction=1",
      webhook_events_filter: ["start", "logs", "completed"],
    },
  ]);
});

test.each<[string, unknown, Record<string, string>, number | null]>([
  ["retry_after in the body", { retry_after: 7 }, {}, 7],
  ["Retry-After in seconds", {}, { "retry-after": "9" }, 9],
  ["Retry-After as a date", {}, { "retry-after": new Date(AT + 30_000).toUTCString() }, 30],
  ["both", { retry_after: 2.5 }, { "retry-after": "9" }, 2.5],
  ["neither", {}, {}, null],
  ["nonsense", { retry_after: "soon" }, { "retry-after": "later" }, null],
  ["a year", { retry_after: 31_536_000 }, {}, 3600],
  ["a time that has passed", { retry_after: -5 }, {}, 0],
])("429 with %s → its wait", async (_name, body, headers, wait) => {
  const { provider } = answering(() => Response.json(body, { status: 429, headers }));
  expect((await failureOf(provider.create(NEW_RUN, never()))).retryAfterSeconds).toBe(wait);
});

test.each([
  [400, "fail", "provider_rejected_input"],
  [401, "retry", "provider_unauthorized"],
  [402, "retry", "provider_payment_required"],
  [403, "retry", "provider_unauthorized"],
  [404, "fail", "provider_model_not_found"],
  [413, "fail", "provider_rejected_input"],
  [422, "fail", "provider_rejected_input"],
  [429, "retry", "provider_rate_limited"],
])("create answered %i → %s, %s, and nothing is searched for", async (status, action, code) => {
  const { provider } = answering(() => Response.json({ detail: `because of ${status}` }, { status }));
  const verdict = createVerdict(await failureOf(provider.create(NEW_RUN, never())));
  expect(verdict).toMatchObject({ action, reason: { code } });
  expect(verdict.reason.message).toContain(`because of ${status}`);
  expect("providerAnswered" in verdict ? verdict.providerAnswered : verdict.retryable).toBe(
    "providerAnswered" in verdict,
  );
});

test.each([408, 500, 502, 503, 504])("create answered %i → retry, and a run is searched for first", async (status) => {
  const { provider } = answering(() => new Response("<html>bad gateway</html>", { status }));
  const verdict = createVerdict(await failureOf(provider.create(NEW_RUN, never())));
  expect(verdict).toMatchObject({ action: "retry", reason: { code: "provider_unavailable" }, providerAnswered: false });
  expect(verdict.reason.message).not.toContain("html");
});

test("the simulator: create, get, cancel, list over two pages, upload and whose it is", async () => {
  const simulator = await startSimulator({ runDelayMs: 60_000 });
  ends.push(simulator.stop);
  const provider = createProvider({
    token: simulator.token,
    baseUrl: simulator.apiUrl,
    fetch,
    now: Date.now,
  });
  const since = new Date(Date.now() - 1000);
  const file = await provider.upload(new File(["hello"], "x.txt", { type: "text/plain" }), PREDICTION, never());
  const stored = await (await fetch(file, { headers: { authorization: `Bearer ${simulator.token}` } })).json();
  expect(stored).toMatchObject({ name: "x.txt", content_type: "text/plain", size: 5 });
  expect(await provider.uploadedFor(file, never())).toBe(PREDICTION);
  expect(await provider.uploadedFor(file.slice(0, -1), never())).toBeNull();
  expect(await provider.uploadedFor("https://app.test/storage/v1/object/sign/a.png?token=t", never())).toBeNull();

  const made = await Promise.all(Array.from({ length: 101 }, () => provider.create(NEW_RUN, never())));
  const first = await provider.list(since, null, never());
  const second = await provider.list(since, first.next, never());
  expect(first.runs).toHaveLength(100);
  expect([...first.runs, ...second.runs].map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort());
  expect(second.next).toBeNull();

  const id = made[0]?.id ?? "";
  await provider.cancel(id, never());
  expect((await provider.get(id, never())).status).toBe("canceled");
  await Promise.all(made.map((run) => provider.cancel(run.id, never())));
});

test("the simulator refuses an input → its own sentence reaches the owner", async () => {
  const simulator = await startSimulator();
  ends.push(simulator.stop);
  const provider = createProvider({
    token: simulator.token,
    baseUrl: simulator.apiUrl,
    fetch,
    now: Date.now,
  });
  const failure = await failureOf(provider.create({ ...NEW_RUN, input: { prompt: "A cat", mood: "good" } }, never()));
  expect(createVerdict(failure)).toMatchObject({
    action: "fail",
    reason: { code: "provider_rejected_input" },
    retryable: false,
  });
  expect(createVerdict(failure).reason.message).toContain("mood");
});
