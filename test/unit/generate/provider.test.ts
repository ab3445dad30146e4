import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createProvider,
  type NewRun,
  type Provider,
} from "../../../supabase/functions/keyframe-generate/provider/provider.ts";
import {
  type ProviderError,
  createVerdict,
} from "../../../supabase/functions/keyframe-generate/provider/provider-error.ts";
import { until } from "../../support/until.ts";
import { receive } from "../../support/receiver/raw-receiver.ts";
import { never, PREDICTION, serve, serveKeptAlive } from "./fixture.ts";

const NEW_RUN: NewRun = {
  model: "google/nano-banana",
  input: { prompt: "A cat" },
  cancelAfterSeconds: 60,
  webhook: null,
};
const AT = Date.parse("2026-01-02T03:04:05Z");

const providerAt = (url: string) => createProvider({ token: "r8_test", baseUrl: `${url}/v1`, fetch, now: () => AT });

function answering(handler: (request: Request) => Response | Promise<Response>) {
  const requests: Request[] = [];
  const url = serve((request) => {
    requests.push(request);
    return handler(request);
  });
  return { provider: providerAt(url), requests };
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

describe.each(calls)("the provider call %s", (_name, call) => {
  test.each([429, 500, 502, 503])("answered %i → one request, and the SDK does not repeat it", async (status) => {
    const { provider, requests } = answering(() => Response.json({ detail: "no" }, { status }));
    expect(await failureOf(call(provider))).toMatchObject({ status, explanation: "no" });
    expect(requests).toHaveLength(1);
  });

  test.each([
    ["before its answer", ""],
    ["within its answer", 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"id":'],
  ])("a call whose connection breaks %s → one request, no answer", async (_when, bytes) => {
    const server = await receive((socket) => socket.end(bytes));
    expect(await failureOf(call(providerAt(server.url)))).toMatchObject({ status: null });
    expect(server.connections()).toBe(1);
  });
});

test("provider calls that are never answered → each is given up after 20 s, after one request", async () => {
  const patience: number[] = [];
  const { provider, requests } = answering(() => new Promise<Response>(() => {}));
  const timesUp = new AbortController();
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    patience.push(ms);
    return timesUp.signal;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const failures = calls.map(([, call]) => failureOf(call(provider)));
  await until("all are asked", () => requests.length === calls.length);
  timesUp.abort();
  expect((await Promise.all(failures)).map(({ status }) => status)).toEqual(calls.map(() => null));
  expect(patience).toEqual(calls.map(() => 20_000));
  expect(requests).toHaveLength(calls.length);
});

test("a kept-alive connection closes during a create → the create is not sent again on another connection", async () => {
  const server = await serveKeptAlive();
  const provider = providerAt(server.url);
  for (let round = 0; round < 5; round++) {
    await provider.create(NEW_RUN, never());
    await provider.get("abc", never()); // time for the connection to go back to its pool, if there were one
    const lost = provider.create({ ...NEW_RUN, model: "drop/it" }, never());
    expect(await failureOf(lost)).toMatchObject({ status: null });
  }
  expect(server.requests.filter((request) => request.includes("/drop/"))).toHaveLength(5);

  // What would happen with a plain fetch; when this fails, Deno has changed and `unrepeatable` may go.
  await (await fetch(`${server.url}/warm`)).text();
  await expect(fetch(`${server.url}/drop`, { method: "POST", body: "{}" })).rejects.toThrow();
  expect(server.requests.filter((request) => request.startsWith("POST /drop "))).toHaveLength(2);
});

test("create without a server, or after its task has ended → no answer", async () => {
  const away = providerAt("http://127.0.0.1:1").create(NEW_RUN, never());
  expect(await failureOf(away)).toMatchObject({ status: null });
  const { provider } = answering(() => Response.json({ id: "abc", status: "starting" }));
  expect(await failureOf(provider.create(NEW_RUN, AbortSignal.abort()))).toMatchObject({ status: null });
});

test.each([
  ["another shape", Response.json({ hello: "world" })],
  ["no JSON", new Response("<html>")],
  ["half its JSON", new Response('{"id":"abc","st')],
])("create answered with %s → counts as no answer, since the run may exist", async (_name, response) => {
  const { provider } = answering(() => response);
  expect(await failureOf(provider.create(NEW_RUN, never()))).toMatchObject({ status: null });
});

test("a run with an unknown status or kind of logs → created, and found in the list: a second submit would be paid again", async () => {
  const run = { id: "abc", status: "paused", logs: ["starting"] };
  const known = { id: "abc", status: "starting", logs: null };
  const { provider } = answering(({ method }) =>
    Response.json(method === "POST" ? run : { next: null, results: [run] }),
  );
  expect(await provider.create(NEW_RUN, never())).toMatchObject(known);
  expect((await provider.list(new Date(AT), null, never())).runs).toMatchObject([known]);
});

test("the owner of a file that the provider no longer has → nobody", async () => {
  const { provider } = answering(() => Response.json({ detail: "no" }, { status: 404 }));
  expect(await provider.uploadedFor("https://api.replicate.com/v1/files/abc", never())).toBeNull();
});

test("a create answered with a redirect → not followed, and the token is sent nowhere else", async () => {
  const { provider, requests } = answering((request) => Response.redirect(new URL("/v1/elsewhere", request.url)));
  expect(await failureOf(provider.create(NEW_RUN, never()))).toMatchObject({ status: 302 });
  expect(requests).toHaveLength(1);
});

test.each<[string, unknown, Record<string, string>, number | null]>([
  ["retry_after in the body", { retry_after: 7 }, {}, 7],
  ["Retry-After", {}, { "retry-after": new Date(AT + 30_000).toUTCString() }, 30],
  ["both", { retry_after: 2.5 }, { "retry-after": "9" }, 2.5],
  ["neither", {}, {}, null],
  ["a year", { retry_after: 31_536_000 }, {}, 3600],
])("the provider answers 429 with %s → its wait", async (_name, body, headers, wait) => {
  const { provider } = answering(() => Response.json(body, { status: 429, headers }));
  expect((await failureOf(provider.create(NEW_RUN, never()))).retryAfterSeconds).toBe(wait);
});

test("an HTML page as the provider's answer → its text, without markup", async () => {
  const detail =
    "<!doctype html><html><head><style>a{color:red}</style><title>Too many</title></head><body class='x'>Slow <b>down</b>";
  const { provider } = answering(() => Response.json({ detail }, { status: 422 }));
  const { reason } = createVerdict(await failureOf(provider.create(NEW_RUN, never())));
  expect(reason.message).toMatch(/ The provider said: “Too many Slow down”$/);
});

const SENSITIVE = "The input or output was flagged as sensitive. (E005)";
const NO_VERSION = "The specified version does not exist (or perhaps you don't have permission to use it?)";
const DISABLED = "This version has been disabled because it consistently fails to complete setup.";
const REJECTED = { action: "fail", retryable: false, reason: { code: "provider_rejected_input" } };
const CONTENT = { action: "fail", retryable: false, reason: { code: "content_rejected", stage: "input" } };
const ANOTHER_MODEL = { action: "change_model", reason: { code: "model_unavailable" } };
const SETUP = { action: "fail", retryable: true, reason: { code: "provider_refused_setup" } };
const retry = (code: string, providerAnswered = true) => ({ action: "retry", providerAnswered, reason: { code } });
test.each<[status: number, detail: string | null, verdict: object]>([
  [400, "no", REJECTED],
  [401, "no", retry("provider_unauthorized")],
  [402, "no", retry("provider_payment_required")],
  [403, "no", retry("provider_unauthorized")],
  [404, "no", ANOTHER_MODEL],
  [404, null, retry("provider_unavailable")], // as by another server
  [409, "no", retry("provider_unavailable")],
  [405, "no", SETUP],
  [415, "no", SETUP],
  [400, "webhook must be HTTPS", SETUP],
  [422, "- webhook: Does not match format 'uri'", SETUP],
  [422, "The webhook URL must be HTTPS", SETUP],
  [422, "Cancel-After must be at most 24h", SETUP],
  [422, "- input.prompt: a webhook of light is too long", REJECTED],
  [410, "This model has been removed.", ANOTHER_MODEL],
  [410, null, retry("provider_unavailable")],
  [400, "Your account has been flagged due to low credit", retry("provider_payment_required")],
  [413, "no", REJECTED],
  [422, "no", REJECTED],
  [422, NO_VERSION, ANOTHER_MODEL],
  [422, DISABLED, ANOTHER_MODEL],
  [422, SENSITIVE, CONTENT], // whatever stage its words name
  [425, "no", retry("provider_unavailable")],
  [429, "no", retry("provider_rate_limited")],
  // A run may have been made: it is searched for first.
  ...[408, 500, 502, 503, 504].map((status) => [status, null, retry("provider_unavailable", false)] as const),
] as [number, string | null, object][])(
  "create answered %i, %s → its verdict, with the provider's words",
  async (status, detail, expected) => {
    const page = () => new Response("<html>bad gateway</html>", { status });
    const { provider } = answering(() => (detail === null ? page() : Response.json({ detail }, { status })));
    const verdict = createVerdict(await failureOf(provider.create(NEW_RUN, never())));
    expect(verdict).toMatchObject(expected);
    expect(verdict.reason.message).toMatch(detail === null ? /^(?!.*html)/ : /The provider said: “/);
    expect(verdict.reason.message).toContain(detail ?? "");
  },
);

test("create of a model's version → sent by its name to the address for all models", async () => {
  const asked: unknown[] = [];
  const { provider } = answering(async (request) => {
    asked.push(new URL(request.url).pathname, await request.json());
    return Response.json({ id: "abc", status: "starting" });
  });
  const model = "someone/a-model:0123abcd";
  await provider.create({ ...NEW_RUN, model }, never());
  expect(asked).toEqual(["/v1/predictions", { version: model, input: NEW_RUN.input }]);
});
