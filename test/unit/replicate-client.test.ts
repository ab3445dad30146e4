import Replicate from "replicate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { drawReferencePhoto } from "../../local/simulator/draw/scene.ts";
import { type RunningSimulator, startSimulator } from "../../local/simulator/start-simulator.ts";
import { request } from "./replicate-test-kit.ts";

let simulator: RunningSimulator;
let replicate: Replicate;

beforeAll(async () => {
  simulator = await startSimulator();
  replicate = new Replicate({ auth: simulator.token, baseUrl: simulator.apiUrl, useFileOutput: false });
});
afterAll(() => simulator.stop());

test("predictions.create → starting with every field of the provider; wait → succeeded with a URL", async () => {
  const created = await replicate.predictions.create({ model: "google/nano-banana", input: { prompt: "a lake" } });
  expect(created).toMatchObject({
    model: "google/nano-banana",
    version: "hidden",
    input: { prompt: "a lake" },
    output: null,
    logs: "",
    error: null,
    status: "starting",
    source: "api",
    data_removed: false,
    started_at: null,
    completed_at: null,
  });
  expect(created.id).toMatch(/^[0-9a-z]{26}$/);
  expect(created.urls.get).toBe(`${simulator.apiUrl}/predictions/${created.id}`);

  const done = await replicate.wait(created, { interval: 5 });
  expect(done.status).toBe("succeeded");
  expect(done.metrics?.predict_time).toBeGreaterThanOrEqual(0);
  expect(done.output).toMatch(/\/delivery\/[0-9a-z]{52}\/out-0\.png$/);
});

test("run with Prefer: wait → the output of a finished prediction", async () => {
  const output = await replicate.run("bytedance/seedream-4", { input: { prompt: "a garden" } });
  expect(output).toEqual([expect.stringMatching(/out-0\.png$/)]);
});

test("a Blob as input → uploaded through the files API, then read by the model", async () => {
  const photo = new Blob([new Uint8Array(drawReferencePhoto("client"))], { type: "image/png" });
  const created = await replicate.predictions.create({
    model: "black-forest-labs/flux-kontext-pro",
    input: { prompt: "the same at night", input_image: photo },
    wait: true,
  });
  expect(created.input).toMatchObject({ input_image: expect.stringContaining("/v1/files/") });
  expect(created.status).toBe("succeeded");
});

test("files create, get, list, delete → the file, then 404", async () => {
  const file = await replicate.files.create(new Blob(["hello"], { type: "text/plain" }), { by: "test" });
  expect(file).toMatchObject({ size: 5, content_type: "text/plain", metadata: { by: "test" } });
  expect(file.checksums.sha256).toMatch(/^2cf24dba5fb0a30e/);
  expect(file.urls.get).toBe(`${simulator.apiUrl}/files/${file.id}`);
  expect((await replicate.files.get(file.id)).id).toBe(file.id);
  expect((await replicate.files.list()).results.map(({ id }) => id)).toContain(file.id);
  expect(await replicate.files.delete(file.id)).toBe(true);
  await expect(replicate.files.get(file.id)).rejects.toThrow("404");
});

test("models.get → the schema of its input; its version id → creates the same model", async () => {
  const model = await replicate.models.get("kwaivgi", "kling-v2.1");
  const version = model.latest_version;
  expect(version?.openapi_schema).toMatchObject({
    components: {
      schemas: {
        Input: {
          required: ["prompt", "start_image"],
          properties: {
            mode: { allOf: [{ $ref: "#/components/schemas/mode" }], default: "standard" },
            end_image: { type: "string", format: "uri" },
          },
        },
        mode: { type: "string", enum: ["standard", "pro"] },
        Output: { type: "string", format: "uri" },
      },
    },
  });
  const banana = (await replicate.models.get("google", "nano-banana")).latest_version;
  const created = await replicate.predictions.create({ version: banana?.id ?? "", input: { prompt: "by version" } });
  expect(created.model).toBe("google/nano-banana");
});

test("predictions.cancel while it runs → canceled; again → still canceled", async () => {
  simulator.control.delays({ runMs: 3_600_000 });
  const created = await replicate.predictions.create({ model: "google/nano-banana", input: { prompt: "slow" } });
  expect((await replicate.predictions.cancel(created.id)).status).toBe("canceled");
  expect((await replicate.predictions.cancel(created.id)).status).toBe("canceled");
  simulator.control.delays({ runMs: 0 });
});

test("webhooks.default.secret.get → the signing key", async () => {
  expect(await replicate.webhooks.default.secret.get()).toEqual({ key: simulator.webhookSecret });
});

test("130 predictions → paginate gives pages of 100, newest first, each once, without their webhook", async () => {
  const other = await startSimulator({ startDelayMs: 3_600_000 });
  const client = new Replicate({ auth: other.token, baseUrl: other.apiUrl });
  const made: string[] = [];
  for (let i = 0; i < 130; i++) {
    const created = await client.predictions.create({
      model: "google/nano-banana",
      input: { prompt: `number ${i}` },
      webhook: "http://127.0.0.1:9/hook",
      webhook_events_filter: ["completed"],
    });
    made.push(created.id);
  }
  const pages = await Array.fromAsync(client.paginate(client.predictions.list));
  await other.stop();
  expect(pages.map((page) => page.length)).toEqual([100, 30]);
  expect(pages.flat().map(({ id }) => id)).toEqual(made.toReversed());
  expect(pages.flat().every((prediction) => !("webhook" in prediction))).toBe(true);
});

test("created_after and created_before → only what was made between; a wrong date → 400", async () => {
  const before = new Date().toISOString();
  const { id } = await replicate.predictions.create({ model: "google/nano-banana", input: { prompt: "dated" } });
  const list = async (query: Record<string, string>) => {
    const response = await request(simulator, "GET", `/predictions?${new URLSearchParams(query)}`);
    const page: { results: { id: string }[] } = await response.json();
    return page.results.map((prediction) => prediction.id);
  };
  expect(await list({ created_after: before })).toEqual([id]);
  expect(await list({ created_before: before })).not.toContain(id);
  expect((await request(simulator, "GET", "/predictions?created_after=yesterday")).status).toBe(400);
});

test("list → the fields that are documented of it, and no callback address among them", async () => {
  const webhook = "http://127.0.0.1:1/callback";
  await replicate.predictions.create({ model: "google/nano-banana", input: { prompt: "listed" }, webhook });
  const { results } = await (await request(simulator, "GET", "/predictions")).json();
  const fields =
    "id model version input output error status source data_removed created_at started_at completed_at metrics";
  expect(new Set(Object.keys(results[0]))).toEqual(new Set([...fields.split(" "), "urls"]));
});

test("a wrong token, and none → 401; an unknown prediction and path → 404, all as problem JSON", async () => {
  const wrong = await fetch(`${simulator.apiUrl}/predictions`, { headers: { authorization: "Bearer r8_wrong" } });
  expect(wrong.status).toBe(401);
  expect(wrong.headers.get("content-type")).toBe("application/problem+json");
  expect(await wrong.json()).toEqual({ title: "Unauthenticated", detail: expect.any(String), status: 401 });
  expect((await fetch(`${simulator.apiUrl}/webhooks/default/secret`)).status).toBe(401);
  expect((await request(simulator, "GET", "/predictions/none")).status).toBe(404);
  expect((await request(simulator, "GET", "/nowhere")).status).toBe(404);
});
