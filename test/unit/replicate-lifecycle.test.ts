import { afterEach, expect, test } from "vitest";
import { parseCancelAfter, parsePreferWait } from "../../local/simulator/requests.ts";
import { type RunningSimulator, type SimulatorOptions, startSimulator } from "../../local/simulator/start-simulator.ts";
import { create, ended, get, request, run, until, wire } from "./replicate-test-kit.ts";

const hourMs = 3_600_000;
let simulator: RunningSimulator;
const start = async (options: SimulatorOptions = {}) => {
  simulator = await startSimulator(options);
  return simulator;
};
afterEach(() => simulator.stop());

const status = async (id: string) => (await get(simulator, id)).status;
const reaches = (id: string, wanted: string) => until(async () => ((await status(id)) === wanted ? wanted : null));

test("with delays → starting, then processing with growing progress in the logs, then succeeded", async () => {
  await start({ startDelayMs: hourMs, runDelayMs: hourMs });
  const { id } = await wire(await create(simulator, "a slow one"));
  expect(await status(id)).toBe("starting");

  simulator.control.advance(3600);
  await reaches(id, "processing");
  expect((await get(simulator, id)).started_at).not.toBeNull();
  const { logs } = await until(async () => {
    simulator.control.advance(60);
    const prediction = await get(simulator, id);
    return prediction.logs.includes(" 3/28 ") ? prediction : null;
  });
  expect(logs).toMatch(/^ {2}0%\| {10}\| 0\/28 [^\n]*\n {1}11%\|█ {9}\| 3\/28 [^\n]*\n$/);

  const done = until(async () => {
    simulator.control.advance(600);
    const prediction = await get(simulator, id);
    return prediction.status === "succeeded" ? prediction : null;
  });
  expect((await done).logs).toMatch(/100%\|█{10}\| 28\/28 [^\n]*\n$/);
});

test("no delays → succeeded without the clock being moved", async () => {
  await start();
  expect((await run(simulator, "quick")).status).toBe("succeeded");
});

test("Cancel-After passed before the start → aborted, never started", async () => {
  await start({ startDelayMs: hourMs });
  const { id } = await wire(await create(simulator, "x", { headers: { "cancel-after": "10m" } }));
  simulator.control.advance(599);
  expect(await status(id)).toBe("starting");
  simulator.control.advance(1);
  expect(await ended(simulator, id)).toMatchObject({ status: "aborted", started_at: null, output: null, error: null });
});

test("Cancel-After passed while it runs → canceled; passed after the end → still succeeded", async () => {
  await start({ runDelayMs: hourMs });
  const { id } = await wire(await create(simulator, "x", { headers: { "cancel-after": "10m" } }));
  await reaches(id, "processing");
  simulator.control.advance(600);
  expect((await ended(simulator, id)).status).toBe("canceled");

  simulator.control.delays({ runMs: 0 });
  const done = await run(simulator, "x", { headers: { "cancel-after": "10m" } });
  simulator.control.advance(600);
  expect(await status(done.id)).toBe("succeeded");
});

test("a video canceled while it is encoded → canceled, and the next one is made", async () => {
  await start();
  const input = { duration: 8 };
  const { id } = await wire(await create(simulator, "a film", { model: "google/veo-3.1", input }));
  await until(async () => ((await get(simulator, id)).logs.includes(" 4/") ? true : null));
  expect((await wire(await request(simulator, "POST", `/predictions/${id}/cancel`))).status).toBe("canceled");
  const next = await run(simulator, "another film", { model: "google/veo-3.1", input: { duration: 4 } });
  expect(next.status).toBe("succeeded");
});

test("Prefer: wait=1 → the finished prediction, or 202 and the running one when it takes longer", async () => {
  await start();
  const quick = await create(simulator, "x", { headers: { prefer: "wait=30" } });
  expect(quick.status).toBe(201);
  expect((await wire(quick)).status).toBe("succeeded");
  simulator.control.delays({ runMs: hourMs });
  const slow = create(simulator, "y", { headers: { prefer: "wait=60" } });
  await until(() => (simulator.control.state().predictions.processing === 1 ? true : null));
  simulator.control.advance(61);
  expect((await slow).status).toBe(202);
});

test("after an hour → the output is 404 and input, output and logs are removed; after two the prediction is gone", async () => {
  await start();
  const done = await run(simulator, "soon forgotten");
  const output = String(done.output);
  expect((await fetch(output)).status).toBe(200);
  simulator.control.advance(3601);
  expect((await fetch(output)).status).toBe(404);
  const stripped = { status: "succeeded", data_removed: true, input: {}, output: null, logs: "" };
  expect(await get(simulator, done.id)).toMatchObject(stripped);
  simulator.control.advance(3600);
  expect((await request(simulator, "GET", `/predictions/${done.id}`)).status).toBe(404);
  expect(simulator.control.state().predictions.succeeded).toBe(0);
});

test("a given output lifetime and public address → used", async () => {
  await start({ outputLifetimeMs: 60_000, publicUrl: "https://replicate.example/" });
  const done = await run(simulator, "short-lived");
  expect(done.urls.get).toBe(`https://replicate.example/v1/predictions/${done.id}`);
  const local = String(done.output).replace("https://replicate.example", simulator.url);
  expect((await fetch(local)).status).toBe(200);
  simulator.control.advance(61);
  expect((await fetch(local)).status).toBe(404);
});

test.each([
  ["10m", 600_000],
  ["90", 90_000],
  ["1h30m5s", 5_405_000],
  [undefined, null],
])("Cancel-After: %s → %s ms", (header, expected) => {
  expect(parseCancelAfter(header)).toBe(expected);
});

test.each(["", "4s", "25h", "m", "10 minutes"])("Cancel-After: %j → refused", (header) => {
  expect(() => parseCancelAfter(header)).toThrow("Cancel-After");
});

test.each([
  ["wait", 60_000],
  ["wait=5", 5_000],
  ["respond-async, wait=600", 60_000],
  ["respond-async", null],
])("Prefer: %s → %s ms", (header, expected) => {
  expect(parsePreferWait(header)).toBe(expected);
});
