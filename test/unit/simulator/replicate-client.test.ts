import { createHash } from "node:crypto";
import Replicate from "replicate";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { SimulatorOptions } from "../../../local/simulator/settings.ts";
import { type RunningSimulator, startSimulator } from "../../../local/simulator/start-simulator.ts";
import { until } from "../../support/until.ts";
import { serve } from "../generate/fixture.ts";

// The simulator as Replicate's own client meets it. Its faults and its outputs are what test/faults and test/e2e use.

const HOUR_MS = 3_600_000;
const MODEL = "google/nano-banana";
const input = { prompt: "x" };
let simulator: RunningSimulator;
let replicate: Replicate;

const clientOf = ({ token, apiUrl }: RunningSimulator) =>
  new Replicate({ auth: token, baseUrl: apiUrl, useFileOutput: false });
beforeAll(async () => {
  simulator = await startSimulator();
  replicate = clientOf(simulator);
});
afterAll(() => simulator.stop());

async function another(options: SimulatorOptions) {
  const own = await startSimulator(options);
  onTestFinished(own.stop);
  return { own, client: clientOf(own) };
}

function request(path: string, init: { method?: string; body?: string; headers?: Record<string, string> } = {}) {
  const headers = { authorization: `Bearer ${simulator.token}`, ...init.headers };
  return fetch(`${simulator.apiUrl}${path}`, { ...init, headers });
}
/** A create without the client, which repeats some refused requests by itself. */
const post = (body: unknown, path = `/models/${MODEL}/predictions`, headers = {}) =>
  request(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body), headers });

test("predictions.create → starting, with every field of the provider; wait → succeeded, with a URL", async () => {
  const created = await replicate.predictions.create({ model: MODEL, input: { prompt: "a lake" } });
  expect(created).toMatchObject({
    ...{ model: MODEL, version: "hidden", input: { prompt: "a lake" }, output: null, logs: "", error: null },
    ...{ status: "starting", source: "api", data_removed: false, started_at: null, completed_at: null },
  });
  expect(created.id).toMatch(/^[0-9a-z]{26}$/);
  expect(created.urls.get).toBe(`${simulator.apiUrl}/predictions/${created.id}`);
  const done = await replicate.wait(created, { interval: 5 });
  expect(done.status).toBe("succeeded");
  expect(done.metrics?.predict_time).toBeGreaterThanOrEqual(0);
  expect(done.output).toMatch(/\/delivery\/[0-9a-z]{52}\/out-0\.png$/);
});

test("predictions.list → newest first, with the documented fields, without the webhook", async () => {
  const { client } = await another({ startDelayMs: HOUR_MS });
  const create = () => client.predictions.create({ model: MODEL, input, webhook: "http://127.0.0.1:9/hook" });
  const ids = [(await create()).id, (await create()).id];
  const { results } = await client.predictions.list();
  expect(results.map(({ id }) => id)).toEqual(ids.toReversed());
  const fields =
    "id model version input output error status source data_removed created_at started_at completed_at metrics urls";
  expect(new Set(results.flatMap(Object.keys))).toEqual(new Set(fields.split(" ")));
});

test("an idle connection to the simulator → stays open longer than a client keeps it, so that no create is lost", async () => {
  const answer = await request("/predictions");
  await answer.body?.cancel();
  const [, seconds] = /timeout=(\d+)/.exec(answer.headers.get("keep-alive") ?? "") ?? [];
  expect(Number(seconds)).toBeGreaterThan(90); // after which Deno's fetch closes it
});

test("a wrong input to the simulator → 422 with the provider's title, detail and invalid_fields, and no run", async () => {
  const before = simulator.control.state().creates;
  const response = await post({ input: { prompt: "x", output_format: "webp" } });
  const description = 'output_format must be one of the following: "jpg", "png"';
  expect([response.status, await response.json()]).toEqual([
    422,
    {
      title: "Input validation failed",
      detail: `- input.output_format: ${description}\n`,
      invalid_fields: [{ type: "enum", field: "input.output_format", description }],
      status: 422,
    },
  ]);
  expect(simulator.control.state().creates).toBe(before);
});

test.each<[string, () => Promise<Response>, number]>([
  ["broken JSON", () => post("{"), 400],
  ["no input", () => post({}), 422],
  ["a webhook that is not a URL", () => post({ input, webhook: "nowhere" }), 422],
  ["a Cancel-After that is not a time", () => post({ input }, undefined, { "cancel-after": "soon" }), 400],
  ["a misspelt fault", () => post({ input: { prompt: "x [[fault:faild]]" } }), 422],
])("a create at the simulator with %s → refused", async (_what, create, status) => {
  expect((await create()).status).toBe(status);
});

test("a model made unavailable in the simulator → 404 for that model only, also for later creates, until faults are cleared", async () => {
  const { own, client } = await another({});
  own.control.arm({ fault: "model_gone", model: MODEL });
  const create = (model: string, prompt = "x") => client.predictions.create({ model, input: { prompt } });
  await expect(create(MODEL)).rejects.toThrow("404");
  await expect(create(MODEL)).rejects.toThrow("404");
  await create("bytedance/seedream-4");
  own.control.clear();
  await create(MODEL);
  await expect(create(MODEL, `[[fault:model_gone=${MODEL}]]`)).rejects.toThrow("404");
  await create("bytedance/seedream-4", `[[fault:model_gone=${MODEL}]]`);
});

test("Cancel-After passes before the start → aborted, never started; while it runs → canceled; canceled again → no change", async () => {
  for (const [options, start, end] of [
    [{ startDelayMs: HOUR_MS }, "starting", { status: "aborted", started_at: null, output: null }],
    [{ runDelayMs: HOUR_MS }, "processing", { status: "canceled", started_at: expect.any(String), output: null }],
  ] as const) {
    const { own, client } = await another(options);
    const headers = { authorization: `Bearer ${own.token}`, "cancel-after": "10m" };
    const path = `${own.apiUrl}/models/${MODEL}/predictions`;
    const created = await (await fetch(path, { method: "POST", headers, body: JSON.stringify({ input }) })).json();
    const is = async (status: string) => (await client.predictions.get(created.id)).status === status;
    await until(start, () => is(start));
    own.control.advance(599);
    expect(await is(start)).toBe(true);
    own.control.advance(1);
    await until("it ends", async () => !(await is(start)));
    expect(await client.predictions.get(created.id)).toMatchObject(end);
    expect((await client.predictions.cancel(created.id)).status).toBe(end.status);
  }
});

test("a callback answered 500, then 302 → sent again after each wait, with one webhook-id; a redirect is not followed", async () => {
  const { own, client } = await another({ callbackRetryMs: [HOUR_MS, HOUR_MS] });
  const received: { id: string | null; event: { status: string; id: string } }[] = [];
  const receiver = serve(async (request) => {
    const text = await request.text();
    new Webhook(own.webhookSecret).verify(text, Object.fromEntries(request.headers)); // throws: answered 500, and not noted
    received.push({ id: request.headers.get("webhook-id"), event: JSON.parse(text) });
    return new Response(null, { status: [500, 302][received.length - 1] ?? 200, headers: { location: "/elsewhere" } });
  });
  const filter = { webhook: `${receiver}/hook`, webhook_events_filter: ["completed" as const] };
  const { id } = await client.predictions.create({ model: MODEL, input, ...filter });
  await until("the first one", () => received.length > 0);
  await until("all three, and the last one's answer", () => {
    own.control.advance(3600);
    return own.control.state().callbacks.delivered === 1;
  });
  expect(received.map(({ event }) => [event.id, event.status])).toEqual(Array(3).fill([id, "succeeded"]));
  expect(new Set(received.map((one) => one.id)).size).toBe(1);
  expect(own.control.state().callbacks).toMatchObject({ sent: 3, retried: 2, delivered: 1, given_up: 0 });
});

test("runs with the same prompt → different images; with the same seed → the same image", async () => {
  const { client } = await another({ imageWidth: 160 });
  const digestOf = async (more: object) => {
    const run = { model: "black-forest-labs/flux-2-pro", input: { prompt: "a lake", ...more } };
    const { output } = await client.wait(await client.predictions.create(run), { interval: 5 });
    return createHash("sha256")
      .update(await (await fetch(String(output))).bytes())
      .digest("hex");
  };
  const digests = await Promise.all([{}, {}, { seed: 8 }, { seed: 7 }, { seed: 7 }].map(digestOf));
  expect(new Set(digests).size).toBe(4);
  expect(digests[3]).toBe(digests[4]);
});
