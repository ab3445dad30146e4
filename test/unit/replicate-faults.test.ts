import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type RunningSimulator, startSimulator } from "../../local/simulator/start-simulator.ts";
import { createMediaReader } from "../../shared/media/media-reader.ts";
import { create, run, until, wire } from "./replicate-test-kit.ts";

let simulator: RunningSimulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
beforeEach(() => simulator.control.clear());
afterAll(() => simulator.stop());

const creates = () => simulator.control.state().creates;

test("rate_limited → 429 with retry_after once, nothing made; the same prompt again → made", async () => {
  const before = creates();
  const refused = await create(simulator, "[[fault:rate_limited]] x");
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(await refused.json()).toEqual({ detail: expect.stringContaining("throttled"), status: 429, retry_after: 1 });
  expect(creates()).toBe(before);
  expect((await create(simulator, "[[fault:rate_limited]] x")).status).toBe(201);
  expect((await create(simulator, "[[fault:rate_limited]] another prompt")).status).toBe(429);
});

test("rate_limited=3 → three times", async () => {
  const answers: number[] = [];
  for (let i = 0; i < 4; i++) answers.push((await create(simulator, "x [[fault:rate_limited=3]]")).status);
  expect(answers).toEqual([429, 429, 429, 201]);
});

test("two directives → one after the other", async () => {
  const prompt = "x [[fault:server_error]] [[fault:rate_limited]]";
  const answers: number[] = [];
  for (let i = 0; i < 3; i++) answers.push((await create(simulator, prompt)).status);
  expect(answers).toEqual([429, 500, 201]);
});

test("rejected → 422 however often it is sent", async () => {
  for (let i = 0; i < 2; i++) {
    const refused = await create(simulator, "x [[fault:rejected]]");
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ title: "Input validation failed", status: 422 });
  }
});

test("timeout → no answer and nothing made; again → made", async () => {
  const before = creates();
  const hanging = new AbortController();
  const body = JSON.stringify({ input: { prompt: "x [[fault:timeout]]" } });
  const headers = { authorization: `Bearer ${simulator.token}` };
  const path = `${simulator.apiUrl}/models/google/nano-banana/predictions`;
  const asked = fetch(path, { method: "POST", headers, body, signal: hanging.signal });
  const outcome = asked.then(
    () => "answered",
    () => "gave up",
  );
  await until(() => simulator.control.state().answers.timeout ?? null);
  expect(creates()).toBe(before);
  hanging.abort();
  expect(await outcome).toBe("gave up");
  expect((await create(simulator, "x [[fault:timeout]]")).status).toBe(201);
});

test("lost_answer → the connection closes with no answer, the prediction exists and can be found by the list", async () => {
  const since = new Date().toISOString();
  await expect(createOnce("x [[fault:lost_answer]]")).rejects.toThrow();
  expect(await promptsSince(since)).toEqual(["x [[fault:lost_answer]]"]);
});

test("lost_answer to a client that sends again at once by itself → a prediction per request, every answer lost", async () => {
  const since = new Date().toISOString();
  const prompt = "y [[fault:lost_answer]]";
  // Together, for "at once" is a tenth of a second, which a busy machine may take between the two.
  const answers = await Promise.allSettled([createOnce(prompt), createOnce(prompt)]);
  expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await promptsSince(since)).toEqual([prompt, prompt]);
});

/** A create with a body that can be read only once, which Deno's fetch does not send again after a lost connection. */
function createOnce(prompt: string): Promise<Response> {
  const body = new Blob([JSON.stringify({ input: { prompt } })]).stream();
  const headers = { authorization: `Bearer ${simulator.token}` };
  return fetch(`${simulator.apiUrl}/models/google/nano-banana/predictions`, { method: "POST", headers, body });
}

async function promptsSince(since: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${simulator.token}` };
  const response = await fetch(`${simulator.apiUrl}/predictions?created_after=${since}`, { headers });
  const { results }: { results: { input: { prompt: string } }[] } = await response.json();
  return results.map(({ input }) => input.prompt);
}

test("failed → failed with an error, or the one given; aborted → never started; canceled → started", async () => {
  expect(await run(simulator, "x [[fault:failed]]")).toMatchObject({ status: "failed", output: null });
  expect((await run(simulator, "x [[fault:failed=flagged as sensitive (E005)]]")).error).toBe(
    "flagged as sensitive (E005)",
  );
  expect(await run(simulator, "x [[fault:aborted]]")).toMatchObject({ status: "aborted", started_at: null });
  const canceled = await run(simulator, "x [[fault:canceled]]");
  expect(canceled).toMatchObject({ status: "canceled", output: null, started_at: expect.any(String) });
});

test("output_empty → succeeded with no output", async () => {
  expect(await run(simulator, "x [[fault:output_empty]]")).toMatchObject({ status: "succeeded", output: null });
});

test("output_expired → 404 from the start; output_flaky → 503 once, then the file", async () => {
  const expired = await run(simulator, "x [[fault:output_expired]]");
  expect((await fetch(String(expired.output))).status).toBe(404);
  const flaky = await run(simulator, "x [[fault:output_flaky]]");
  expect((await fetch(String(flaky.output))).status).toBe(503);
  expect((await fetch(String(flaky.output))).status).toBe(200);
});

test("output_not_image → a web page that says it is an image", async () => {
  const { output } = await run(simulator, "x [[fault:output_not_image]]");
  const response = await fetch(String(output));
  expect(response.headers.get("content-type")).toBe("image/png");
  expect(await response.text()).toMatch(/^<!doctype html>/);
});

test("output_huge → 300 MB announced and sent; =chunked → not announced; the reader may leave early", async () => {
  const announced = await fetch(String((await run(simulator, "x [[fault:output_huge]]")).output));
  expect(announced.headers.get("content-length")).toBe("314572800");
  await announced.body?.cancel();
  const chunked = await fetch(String((await run(simulator, "x [[fault:output_huge=chunked]]")).output));
  expect(chunked.headers.get("content-length")).toBeNull();
  let read = 0;
  for await (const piece of chunked.body ?? []) {
    read += piece.length;
    if (read > 20_000_000) break;
  }
  expect(read).toBeGreaterThan(20_000_000);
});

test("output_padded=N → the same film, N bytes long and whole", async () => {
  const bytes = 3_000_000;
  const { output } = await run(simulator, `x [[fault:output_padded=${bytes}]]`, { model: "google/veo-3.1-fast" });
  const response = await fetch(String(output));
  expect(response.headers.get("content-length")).toBe(String(bytes));
  const reader = createMediaReader("video/mp4");
  let read = 0;
  for await (const piece of response.body ?? []) {
    reader.push(piece);
    read += piece.length;
  }
  expect(read).toBe(bytes);
  expect(reader.end()).toMatchObject({ width: 640, durationSeconds: expect.any(Number) });
});

test("output_slow → comes in pieces as time passes, whole in the end", async () => {
  const { output } = await run(simulator, "x [[fault:output_slow=3600000]]");
  const response = await fetch(String(output));
  let whole = false;
  const bytes = response.arrayBuffer().then((buffer) => {
    whole = true;
    return buffer.byteLength;
  });
  simulator.control.advance(360);
  expect(whole).toBe(false);
  await until(() => {
    if (!whole) simulator.control.advance(360);
    return whole || null;
  });
  expect(await bytes).toBe(Number(response.headers.get("content-length")));
});

test("armed over HTTP for two creates of one model → those two, others untouched, with the value as retry_after", async () => {
  const control = (method: string, path: string, body?: unknown) =>
    fetch(`${simulator.url}/control${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const armed = { fault: "rate_limited", times: 2, value: 7, model: "google/nano-banana-pro" };
  expect((await control("POST", "/faults", armed)).status).toBe(200);
  expect((await create(simulator, "x")).status).toBe(201);
  const model = "google/nano-banana-pro";
  expect(await (await create(simulator, "x", { model })).json()).toMatchObject({ retry_after: 7 });
  expect((await create(simulator, "x", { model })).status).toBe(429);
  expect((await create(simulator, "x", { model })).status).toBe(201);

  await control("POST", "/faults", { fault: "failed", times: 5 });
  expect((await run(simulator, "x")).status).toBe("failed");
  await control("DELETE", "/faults");
  expect((await run(simulator, "x")).status).toBe("succeeded");
  expect((await control("POST", "/faults", { fault: "explode" })).status).toBe(400);
  expect((await control("POST", "/delays", { run_ms: -1 })).status).toBe(400);
});

test("delays and the clock over HTTP → as set", async () => {
  const control = async (path: string, body: unknown) =>
    (await fetch(`${simulator.url}/control${path}`, { method: "POST", body: JSON.stringify(body) })).json();
  expect(await control("/delays", { start_ms: 5000 })).toMatchObject({ delays: { start_ms: 5000, run_ms: 0 } });
  const { id } = await wire(await create(simulator, "x"));
  await control("/delays", { start_ms: 0 });
  const state = await until(async () => {
    const { predictions } = await control("/advance", { seconds: 5 });
    return predictions.starting === 0 && predictions.processing === 0 ? predictions : null;
  });
  expect(state.succeeded).toBeGreaterThan(0);
  expect(id).toBeDefined();
});
