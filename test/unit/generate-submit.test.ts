import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type RunningSimulator, type SimulatorOptions, startSimulator } from "../../local/simulator/start-simulator.ts";
import type { ProviderPrediction } from "../../shared/replicate/provider-prediction.ts";
import { cancel, poll } from "../../supabase/functions/keyframe-generate/tasks/work.ts";
import type { Database } from "../../supabase/functions/keyframe-generate/database.ts";
import { submit } from "../../supabase/functions/keyframe-generate/tasks/submit.ts";
import type { PollTask, SubmitTask } from "../../supabase/functions/keyframe-generate/tasks/task.ts";
import * as kit from "./generate-fixture.ts";

const PUBLIC = "https://keyframe.test";
let simulator: RunningSimulator;
let storage: kit.StorageServer;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
  simulator = await startSimulator({ runDelayMs: 60_000, fetch: () => Promise.reject(new Error("no callbacks here")) });
});
beforeEach(async () => {
  simulator.control.clear();
  storage = await kit.startStorage();
  storage.files.set("/projects/ref.png", { bytes: kit.PNG, contentType: "image/png" });
  storage.files.set("/keyframe-outputs/o/p/first.png", { bytes: kit.PNG, contentType: "image/png" });
  storage.files.set("/keyframe-outputs/o/p/last.png", { bytes: kit.PNG, contentType: "image/png" });
});
afterEach(async () => {
  await storage.stop();
  for (const end of ends.splice(0)) await end();
});
afterAll(() => simulator.stop());

const simulated = (running = simulator) => ({ url: running.apiUrl, token: running.token });

async function another(options: SimulatorOptions): Promise<RunningSimulator> {
  const running = await startSimulator({
    runDelayMs: 60_000,
    fetch: () => Promise.reject(new Error("no callbacks here")),
    ...options,
  });
  ends.push(running.stop);
  return running;
}

type Options = {
  provider?: { url: string; token: string };
  publicUrl?: string | null;
  database?: Partial<Database>;
  timeoutMs?: number;
};

async function run(change: Partial<SubmitTask> = {}, options: Options = {}) {
  const made = kit.makeDeps({ storageUrl: storage.url, provider: simulated(), publicUrl: PUBLIC, ...options });
  await submit(kit.submitTask(change), made.deps, kit.never());
  return made;
}

/** The runs at a simulator, newest first, as its API shows them. */
async function runsAt(running = simulator): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${running.apiUrl}/predictions`, {
    headers: { authorization: `Bearer ${running.token}` },
  });
  const { results }: { results: Record<string, unknown>[] } = await response.json();
  return results;
}

async function runNamed(id: string | undefined): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${simulator.token}` };
  return await (await fetch(`${simulator.apiUrl}/predictions/${id}`, { headers })).json();
}

const recordedRun = (calls: kit.Call[]) => {
  const call = calls.find(([name]) => name === "recordState");
  return call?.[1] as ProviderPrediction | undefined;
};

test("a first frame → one run with input, callback address and deadline, recorded", async () => {
  const { calls } = await run({ attempt: 3, deadline_at: new Date(Date.now() + 90_500) });
  expect(calls).toEqual([["recordState", expect.objectContaining({ status: "starting" })]]);
  const made = await runNamed(recordedRun(calls)?.id);
  expect(made).toMatchObject({
    model: "google/nano-banana",
    input: { prompt: "A lighthouse at dusk", aspect_ratio: "16:9", output_format: "png" },
    webhook: `${PUBLIC}/functions/v1/keyframe-replicate-webhook?prediction=${kit.PREDICTION}&attempt=3`,
    webhook_events_filter: ["start", "logs", "completed"],
  });
  const seconds = (Date.parse(String(made.deadline)) - Date.parse(String(made.created_at))) / 1000;
  expect(seconds).toBeCloseTo(90, 0);
});

test("a deadline that is nearly over → the shortest that the provider accepts", async () => {
  const { calls } = await run({ deadline_at: new Date(Date.now() - 1000) });
  const made = await runNamed(recordedRun(calls)?.id);
  expect((Date.parse(String(made.deadline)) - Date.parse(String(made.created_at))) / 1000).toBeCloseTo(5, 0);
});

test("files, the provider can reach us → signed addresses under the public one, which name the prediction", async () => {
  const { calls } = await run({
    step: "last-frame",
    reference_image_path: "projects/ref.png",
    first_frame_path: "o/p/first.png",
  });
  const { input } = await runNamed(recordedRun(calls)?.id);
  const signed = (path: string) => `${PUBLIC}/storage/v1/object/sign/${path}?token=secret&prediction=${kit.PREDICTION}`;
  expect(input).toMatchObject({ image_input: [signed("keyframe-outputs/o/p/first.png"), signed("projects/ref.png")] });
});

test("files, the provider cannot reach us → copies among its own files, which name the prediction, and no callback", async () => {
  const { calls } = await run({ reference_image_path: "projects/ref.png" }, { publicUrl: null });
  const made = await runNamed(recordedRun(calls)?.id);
  const [file] = (made.input as { image_input: string[] }).image_input;
  expect(file).toMatch(new RegExp(`^${simulator.apiUrl}/files/`));
  const copy = await (await fetch(file ?? "", { headers: { authorization: `Bearer ${simulator.token}` } })).json();
  expect(copy).toMatchObject({
    ...{ name: "ref.png", content_type: "image/png", size: kit.PNG.byteLength },
    metadata: { prediction: kit.PREDICTION },
  });
  expect(made.webhook).toBeUndefined();
});

test("a file that has been deleted → failed before anything is charged", async () => {
  const before = (await runsAt()).length;
  for (const publicUrl of [PUBLIC, null]) {
    const { calls } = await run({ reference_image_path: "projects/gone.png" }, { publicUrl });
    expect(calls).toEqual([["fail", expect.objectContaining({ code: "input_file_missing" }), false]]);
  }
  expect(await runsAt()).toHaveLength(before);
});

test("Storage is away → tried again before anything is charged", async () => {
  const { deps, calls } = kit.makeDeps({ provider: simulated(), publicUrl: PUBLIC });
  await submit(kit.submitTask({ reference_image_path: "projects/ref.png" }), deps, kit.never());
  expect(calls).toEqual([
    [
      "retryLater",
      expect.objectContaining({ code: "storage_unavailable" }),
      { providerAnswered: true, retryAfterSeconds: null },
    ],
  ]);
});

test("input that the model's changed row no longer takes → failed before anything is charged", async () => {
  const before = (await runsAt()).length;
  const model_settings = { ...kit.NANO_BANANA, reference_field: null, max_references: 0 };
  const { calls } = await run({ reference_image_path: "projects/ref.png", model_settings });
  expect(calls).toEqual([["fail", expect.objectContaining({ code: "unsupported_input" }), false]]);
  expect(await runsAt()).toHaveLength(before);
});

const never = { timeoutMs: 300 };
test.each<[string, string, Options, unknown[]]>([
  ["rate_limited", "provider_rate_limited", {}, [{ providerAnswered: true, retryAfterSeconds: expect.any(Number) }]],
  ["server_error", "provider_unavailable", {}, [{ providerAnswered: false, retryAfterSeconds: null }]],
  ["timeout", "provider_unreachable", never, [{ providerAnswered: false, retryAfterSeconds: null }]],
  ["lost_answer", "provider_unreachable", {}, [{ providerAnswered: false, retryAfterSeconds: null }]],
])("the provider's fault %s → later, %s", async (fault, code, options, more) => {
  const { calls } = await run({ prompt: `Once [[fault:${fault}]] ${crypto.randomUUID()}` }, options);
  expect(calls).toEqual([["retryLater", expect.objectContaining({ code }), ...more]]);
});

test("the provider rejects the input → failed with its sentence", async () => {
  const { calls } = await run({ prompt: "Never [[fault:rejected]]" });
  expect(calls).toEqual([["fail", expect.objectContaining({ code: "provider_rejected_input" }), false]]);
});

test("a token that was revoked → later, for an administrator may renew it", async () => {
  const { calls } = await run({}, { provider: { url: simulator.apiUrl, token: "r8_wrong" } });
  expect(calls).toEqual([
    ["retryLater", expect.objectContaining({ code: "provider_unauthorized" }), expect.anything()],
  ]);
});

test("a model that the provider does not have → failed", async () => {
  const { calls } = await run({ model: "nobody/nothing" });
  expect(calls).toEqual([["fail", expect.objectContaining({ code: "provider_model_not_found" }), false]]);
});

const LOST: [string, Partial<SubmitTask>, string][] = [
  ["a reference", { reference_image_path: "projects/ref.png" }, "name"],
  ["a frame", { step: "last-frame", first_frame_path: "o/p/first.png" }, "name"],
  ["text alone", {}, "text"],
];
for (const publicUrl of [PUBLIC, null]) {
  test.each(LOST)(
    `a lost answer (%s, ${publicUrl ? "public" : "no public"} address) → the next submit finds the run`,
    async (_what, change, foundBy) => {
      const running = await another({});
      running.control.arm({ fault: "lost_answer" });
      const options = { provider: simulated(running), publicUrl };
      const lost = await run(change, options);
      expect(lost.calls[0]?.[0]).toBe("retryLater");
      const { calls } = await run({ ...change, attempt: 2, search_since: new Date() }, options);
      const [found] = await runsAt(running);
      expect(calls).toEqual([["recordState", expect.objectContaining({ id: found?.id }), foundBy]]);
      expect(await runsAt(running)).toHaveLength(1);
    },
  );

  test.each(LOST.slice(0, 2))(
    `an equal run of another prediction (%s, ${publicUrl ? "public" : "no public"} address) → not even asked about`,
    async (_what, change) => {
      const running = await another({});
      const options = { provider: simulated(running), publicUrl };
      await run({ ...change, id: crypto.randomUUID() }, options);
      const { calls } = await run({ ...change, attempt: 2, search_since: new Date() }, options);
      expect(calls).toHaveLength(1);
      expect(await runsAt(running)).toHaveLength(2);
    },
  );
}

test.each(["unknown", "unproven"] as const)(
  "a run with an equal text of which the database says %s → left alone, and a second one is made",
  async (answer) => {
    const running = await another({});
    const options = { provider: simulated(running), publicUrl: null };
    const others = recordedRun((await run({}, options)).calls)?.id;
    const recordState: Database["recordState"] = async (_task, { id }) => (id === others ? answer : "recorded");
    const more = { ...options, database: { recordState } };
    const { calls, lines } = await run({ attempt: 2, search_since: new Date() }, more);
    expect(calls.map(([name]) => name)).toEqual(["recordState", "recordState"]);
    expect(await runsAt(running)).toHaveLength(2);
    const told = lines.some((line) => line.includes('"orphan_unproven"') && line.includes('"runs":1'));
    expect(told).toBe(answer === "unproven");
  },
);

test("another's prompt that is an address which names this prediction → proves nothing", async () => {
  const running = await another({});
  const options = { provider: simulated(running) };
  await run({ id: crypto.randomUUID(), prompt: `${PUBLIC}/?prediction=${kit.PREDICTION}` }, options);
  const { calls } = await run({ attempt: 2, search_since: new Date() }, options);
  expect(calls).toHaveLength(1);
  expect(await runsAt(running)).toHaveLength(2);
});

test.each<[string, Partial<SubmitTask>]>([
  ["another prompt", { prompt: "Something else" }],
  ["a reference", { reference_image_path: "projects/ref.png" }],
  ["another model", { model: "google/nano-banana-pro" }],
  ["other settings", { model_settings: { ...kit.NANO_BANANA, extras: { output_format: "jpg" } } }],
])("a run of another prediction with %s → not ours", async (_name, change) => {
  const running = await another({});
  const options = { provider: simulated(running), publicUrl: null };
  await run({ ...change, id: crypto.randomUUID() }, options);
  const { calls } = await run({ attempt: 2, search_since: new Date() }, options);
  expect(calls).toHaveLength(1);
  expect(await runsAt(running)).toHaveLength(2);
});

test("a run from before the search → not asked for", async () => {
  const running = await another({});
  const options = { provider: simulated(running), publicUrl: null };
  await run({}, options);
  await run({ attempt: 2, search_since: new Date(Date.now() + 12 * 60_000) }, options);
  expect(await runsAt(running)).toHaveLength(2);
});

test("the database's clock is ten minutes ahead of the provider's → found all the same", async () => {
  const running = await another({});
  const options = { provider: simulated(running), publicUrl: null };
  await run({}, options);
  await run({ attempt: 2, search_since: new Date(Date.now() + 10 * 60_000) }, options);
  expect(await runsAt(running)).toHaveLength(1);
});

test("the run stands on the list's second page → found", async () => {
  const running = await another({});
  const options = { provider: simulated(running), publicUrl: null };
  const ours = recordedRun((await run({}, options)).calls)?.id;
  await Promise.all(Array.from({ length: 100 }, (_, index) => run({ prompt: `Other ${index}` }, options)));
  const { calls } = await run({ attempt: 2, search_since: new Date() }, options);
  expect(calls).toEqual([["recordState", expect.objectContaining({ id: ours }), "text"]]);
});

test("the list cannot be had → no submit, and the search stays due", async () => {
  const server = kit.serve((request) => {
    expect(request.method).toBe("GET");
    return Response.json({ detail: "Too many" }, { status: 429, headers: { "retry-after": "3" } });
  });
  ends.push(server.stop);
  const provider = { url: server.url, token: "t" };
  const { calls } = await run({ attempt: 2, search_since: new Date() }, { provider });
  expect(calls).toEqual([
    [
      "retryLater",
      expect.objectContaining({ code: "provider_rate_limited" }),
      { providerAnswered: false, retryAfterSeconds: 3 },
    ],
  ]);
});

test("a list without end → no submit, and the search stays due", async () => {
  let pages = 0;
  const server = kit.serve((request) => {
    pages += 1;
    return Response.json({ next: `${request.url}&more`, previous: null, results: [] });
  });
  ends.push(server.stop);
  const { calls } = await run({ attempt: 2, search_since: new Date() }, { provider: { url: server.url, token: "t" } });
  expect(calls).toEqual([["retryLater", expect.anything(), { providerAnswered: false, retryAfterSeconds: null }]]);
  expect(pages).toBeLessThan(100);
});

test("refused after an unanswered submit → the search stays due all the same", async () => {
  const prompt = `Wait [[fault:rate_limited]] ${crypto.randomUUID()}`;
  const { calls } = await run({ id: crypto.randomUUID(), prompt, attempt: 2, search_since: new Date() });
  expect(calls).toEqual([["retryLater", expect.anything(), expect.objectContaining({ providerAnswered: false })]]);
});

test.each(["ended", "stale", "unknown"] as const)(
  "the database says %s after the create → nothing more, and a log line",
  async (outcome) => {
    const { calls, lines } = await run({}, { database: { recordState: async () => outcome } });
    expect(calls.map(([name]) => name)).toEqual(["recordState"]);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: "warn", event: "submit_discarded", predictionId: kit.PREDICTION, outcome }),
    );
  },
);

test("the log → no prompt, no address", async () => {
  const { lines } = await run({ prompt: "Secret lighthouse", reference_image_path: "projects/ref.png" });
  expect(lines.join()).toContain(kit.PREDICTION);
  expect(lines.join()).not.toMatch(/lighthouse|token|http/);
});

const pollTask = (provider_prediction_id: string): PollTask => ({
  ...kit.submitTask(),
  task: "poll",
  provider_prediction_id,
});

test("poll → the run's state is recorded; nothing new → asked again later", async () => {
  const id = recordedRun((await run()).calls)?.id ?? "";
  const first = kit.makeDeps({ provider: simulated() });
  await poll(pollTask(id), first.deps, kit.never());
  expect(first.calls).toEqual([["recordState", expect.objectContaining({ id })]]);
  const second = kit.makeDeps({ provider: simulated(), database: { recordState: async () => "unchanged" } });
  await poll(pollTask(id), second.deps, kit.never());
  expect(second.calls.map(([name]) => name)).toEqual(["recordState", "pollLater"]);
});

test("poll of a run that the provider lost → failed, retryable", async () => {
  const { deps, calls } = kit.makeDeps({ provider: simulated() });
  await poll(pollTask("gone"), deps, kit.never());
  expect(calls).toEqual([["fail", expect.objectContaining({ code: "provider_lost" }), true]]);
});

test.each([
  [429, "provider_rate_limited"],
  [401, "provider_unauthorized"],
  [500, "provider_unavailable"],
])("poll answered %i → later, %s", async (status, code) => {
  const server = kit.serve(() => Response.json({}, { status, headers: { "retry-after": "4" } }));
  ends.push(server.stop);
  const { deps, calls } = kit.makeDeps({ provider: { url: server.url, token: "t" } });
  await poll(pollTask("run"), deps, kit.never());
  expect(calls).toEqual([["retryLater", expect.objectContaining({ code }), { retryAfterSeconds: 4 }]]);
});

test("poll that is not answered → later", async () => {
  const { deps, calls } = kit.makeDeps({});
  await poll(pollTask("run"), deps, kit.never());
  expect(calls).toEqual([
    ["retryLater", expect.objectContaining({ code: "provider_unreachable" }), { retryAfterSeconds: null }],
  ]);
});

const cancelTask = (provider_prediction_id: string) => ({
  task: "cancel" as const,
  id: kit.PREDICTION,
  provider_prediction_id,
});

test("cancel → the run ends at the provider; again → over", async () => {
  const id = recordedRun((await run()).calls)?.id ?? "";
  for (let time = 0; time < 2; time++) {
    const { deps, calls } = kit.makeDeps({ provider: simulated() });
    await cancel(cancelTask(id), deps, kit.never());
    expect(calls).toEqual([["recordRunCanceled", id, true]]);
    expect((await runNamed(id)).status).toBe("canceled");
  }
});

test.each([
  [404, true],
  [409, true],
  [422, true],
  [401, false],
  [429, false],
  [500, false],
])("cancel answered %i → over: %s", async (status, over) => {
  const server = kit.serve(() => Response.json({}, { status }));
  ends.push(server.stop);
  const { deps, calls } = kit.makeDeps({ provider: { url: server.url, token: "t" } });
  await cancel(cancelTask("run"), deps, kit.never());
  expect(calls).toEqual([["recordRunCanceled", "run", over]]);
});

test("cancel that is not answered → asked again later", async () => {
  const { deps, calls } = kit.makeDeps({});
  await cancel(cancelTask("run"), deps, kit.never());
  expect(calls).toEqual([["recordRunCanceled", "run", false]]);
});
