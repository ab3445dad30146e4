import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type RunningSimulator, startSimulator } from "../../../local/simulator/start-simulator.ts";
import type { ProviderPrediction } from "../../../shared/replicate/provider-prediction.ts";
import { cancel } from "../../../supabase/functions/keyframe-generate/tasks/cancel.ts";
import { poll } from "../../../supabase/functions/keyframe-generate/tasks/poll.ts";
import { runTask } from "../../../supabase/functions/keyframe-generate/tasks/run-task.ts";
import type { Database } from "../../../supabase/functions/keyframe-generate/tasks/database.ts";
import { submit } from "../../../supabase/functions/keyframe-generate/tasks/submit.ts";
import { type PollTask, type SubmitTask, task } from "../../../supabase/functions/keyframe-generate/tasks/task.ts";
import { NANO_BANANA } from "../../support/models.ts";
import { receive } from "../../support/receiver/raw-receiver.ts";
import * as kit from "./fixture.ts";

// What is asked of the provider, and what is recorded of it. What each of its answers leads to: generate-provider.test.ts.

const PUBLIC = "https://keyframe.test";
const OTHER = "4d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a05";
let simulator: RunningSimulator;
let storage: kit.StorageServer;
beforeEach(async () => {
  simulator = await startSimulator({ runDelayMs: 60_000, fetch: () => Promise.reject(new Error("no callbacks here")) });
  storage = await kit.startStorage();
  for (const file of ["projects/ref.png", "keyframe-outputs/o/p/first.png", "keyframe-outputs/o/p/last.png"]) {
    storage.files.set(`/${file}`, { bytes: kit.PNG, contentType: "image/png" });
  }
});
afterEach(async () => {
  await storage.stop();
  await simulator.stop();
});

type Options = {
  provider?: { url: string; token: string };
  storageUrl?: string;
  publicUrl?: string | null;
  database?: Partial<Database>;
};

const make = (options: Options = {}) => {
  const provider = { url: simulator.apiUrl, token: simulator.token };
  return kit.makeDeps({ storageUrl: storage.url, provider, publicUrl: PUBLIC, ...options });
};
async function run(change: Partial<SubmitTask> = {}, options: Options = {}) {
  const database = { beginSubmit: async () => kit.submitTask(change), ...options.database };
  const made = make({ ...options, database });
  await submit(kit.WORK, made.deps, kit.never());
  return made;
}
test("a model that the provider does not have → recorded as refused, and no run", async () => {
  simulator.control.arm({ fault: "model_gone", model: "google/nano-banana" });
  expect((await run()).calls).toEqual([
    ["modelRefused", expect.stringMatching(/does not have this model.*The provider said: “/)],
  ]);
  expect(await runsAtProvider()).toEqual([]);
});

const again = (change: Partial<SubmitTask> = {}, options: Options = {}) =>
  run({ attempt: 2, search_attempt: 1, search_since: new Date(), ...change }, options);

const fromProvider = async (path: string) => {
  const response = await fetch(new URL(path, simulator.url), {
    headers: { authorization: `Bearer ${simulator.token}` },
  });
  return await response.json();
};
const runsAtProvider = async (): Promise<{ id: string }[]> => (await fromProvider("/v1/predictions")).results;
const recordedRun = ({ calls }: { calls: kit.Call[] }) =>
  calls.find(([name]) => name === "reportRun")?.[1] as ProviderPrediction | undefined;
const made = async (after: { calls: kit.Call[] }) => await fromProvider(`/v1/predictions/${recordedRun(after)?.id}`);

const answering = (answer: (request: Request) => Response) => ({ url: kit.serve(answer), token: "t" });

test("a first frame's submit → one run with input, callback URL and a sufficient deadline, recorded", async () => {
  const done = await run({ attempt: 3, deadline_at: new Date(Date.now() + 90_500) });
  expect(done.calls).toEqual([["reportRun", expect.objectContaining({ status: "starting" })]]);
  const created = await made(done);
  expect(created).toMatchObject({
    model: "google/nano-banana",
    input: { prompt: "A lighthouse at dusk", aspect_ratio: "16:9", output_format: "png" },
    webhook: `${PUBLIC}/functions/v1/keyframe-replicate-webhook?prediction=${kit.PREDICTION}&attempt=3`,
    webhook_events_filter: ["start", "logs", "completed"],
  });
  const seconds = (Date.parse(created.deadline) - Date.parse(created.created_at)) / 1000;
  expect(seconds).toBeGreaterThan(60);
  expect(seconds).toBeLessThanOrEqual(90);
  const late = await made(await run({ deadline_at: new Date(Date.now() - 1000) }));
  expect(Date.parse(late.deadline) - Date.parse(late.created_at)).toBe(5000);
});

type Image = SubmitTask["images"][number];
const REFERENCE: Image = { role: "reference", bucket: "projects", name: "ref.png" };
const FIRST: Image = { role: "first_frame", bucket: "keyframe-outputs", name: "o/p/first.png" };
const withImages = (...images: Image[]) => ({ images, has_images: true });

test("input files, when the provider can reach us → public URLs, signed for an hour, that name the prediction", async () => {
  const { input } = await made(await run({ step: "last-frame", ...withImages(FIRST, REFERENCE) }));
  // They cannot be revoked, so they end after an hour, as the provider's own do.
  const signed = (path: string) =>
    `${PUBLIC}/storage/v1/object/sign/${path}?token=for-3600-seconds&prediction=${kit.PREDICTION}`;
  expect(input.image_input).toEqual([signed("keyframe-outputs/o/p/first.png"), signed("projects/ref.png")]);
});

test("input files, when the provider cannot reach us → uploaded to it under the prediction's name, without a callback", async () => {
  const { input, webhook } = await made(await run(withImages(REFERENCE), { publicUrl: null }));
  expect(await fromProvider(input.image_input[0])).toMatchObject({
    ...{ name: "ref.png", content_type: "image/png", size: kit.PNG.byteLength },
    metadata: { prediction: kit.PREDICTION },
  });
  expect(webhook).toBeUndefined();
});

const fails = (code: string) => [["fail", expect.objectContaining({ code }), { retryable: false }]];
const later = (code: string, more = { run: "none", retryAfterSeconds: null as number | null }) => [
  ["retryPrediction", expect.objectContaining({ code }), more],
];
const withoutReferences = { ...NANO_BANANA, controls: { prompt: { field: "prompt" } } };
test.each<[string, Partial<SubmitTask>, Options, unknown[]]>([
  ["a file that has been deleted", withImages({ ...REFERENCE, name: "gone.png" }), {}, fails("input_file_missing")],
  [
    "a lost file to copy",
    withImages({ ...REFERENCE, name: "a.png" }),
    { publicUrl: null },
    fails("input_file_missing"),
  ],
  ["Storage away", withImages(REFERENCE), { storageUrl: "http://127.0.0.1:1" }, later("storage_unavailable")],
  [
    "a frame whose prediction has been deleted",
    { step: "last-frame", ...withImages({ ...FIRST, name: null }) },
    {},
    fails("input_file_missing"),
  ],
  [
    "input that the model's changed row no longer takes",
    { ...withImages(REFERENCE), model_settings: withoutReferences },
    {},
    fails("unsupported_input"),
  ],
])("a submit of %s → fails with its code, before anything is charged", async (_what, change, options, calls) => {
  expect((await run(change, options)).calls).toEqual(calls);
  expect(await runsAtProvider()).toEqual([]);
});

test("Storage's answer breaks off → the submit is tried again within seconds, not when the lease ends", async () => {
  const broken = await receive((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"));
  const { calls } = await run(withImages(REFERENCE), { storageUrl: broken.url });
  expect(calls).toEqual(later("storage_unavailable"));
});

const WITH_FILES: [string, Partial<SubmitTask>, string][] = [
  ["a reference", withImages(REFERENCE), "name"],
  ["a frame", { step: "last-frame", ...withImages(FIRST) }, "name"],
];
/** As the simulator names the one version of the model. */
const VERSION = "google/nano-banana:5901fec1e4f482dc9f55ce4842e0e1faf904d029d411b74968a78e6556671187";
describe.each([
  ["a public address", PUBLIC],
  ["no public address", null],
])("the search after a lost answer, with %s", (_address, publicUrl) => {
  test.each([
    ...WITH_FILES,
    ["text alone", {}, "text"] as const,
    ["text alone, of a version of a model", { model: VERSION }, "text"] as const,
  ])("a submit with %s whose answer was lost → its run is found", async (_what, change, foundBy) => {
    simulator.control.arm({ fault: "lost_answer" });
    expect((await run(change, { publicUrl })).calls).toEqual(
      later("provider_unreachable", { run: "possible", retryAfterSeconds: null }),
    );
    const { calls } = await again(change, { publicUrl });
    const [found, ...more] = await runsAtProvider();
    const how = { found_by: foundBy, attempt_without_run: 2 };
    expect(calls).toEqual([["reportRun", expect.objectContaining({ id: found?.id }), how]]);
    expect(more).toEqual([]);
  });

  test.each(WITH_FILES)(
    "a submit with %s whose answer was lost → an equal run of another prediction is not even read",
    async (_what, change) => {
      await run({ ...change, id: OTHER }, { publicUrl });
      expect((await again(change, { publicUrl })).calls.map(([name]) => name)).toEqual([
        "recordSearchEnded",
        "reportRun",
      ]);
      expect(await runsAtProvider()).toHaveLength(2);
    },
  );
});

test.each(["unknown", "unproven", "replaced"] as const)(
  "a run with an equal text of which the database says %s → left alone, and a second one is made",
  async (answer) => {
    const others = recordedRun(await run({ id: OTHER }))?.id;
    const reportRun: Database["reportRun"] = async (_task, { id }) => (id === others ? answer : "recorded");
    const { calls, lines } = await again({}, { database: { reportRun } });
    expect(calls.map(([name]) => name)).toEqual(["reportRun", "recordSearchEnded", "reportRun"]);
    expect(calls[1]?.at(-1)).toBe(answer === "unproven");
    expect(await runsAtProvider()).toHaveLength(2);
    const told = lines.some((line) => line.includes('"orphan_unproven"') && line.includes('"runs":1'));
    expect(told).toBe(answer === "unproven");
  },
);

test("the found run has already ended this submit, by a call whose answer was lost → no second run is made", async () => {
  await run();
  const database: Partial<Database> = { reportRun: async () => "replaced", recordSearchEnded: async () => false };
  expect((await again({}, { database })).calls.map(([name]) => name)).toEqual(["reportRun", "recordSearchEnded"]);
  expect(await runsAtProvider()).toHaveLength(1);
});

test("another prediction's prompt is an address that names this prediction → proves nothing", async () => {
  await run({ id: OTHER, input: { prompt: `${PUBLIC}/?prediction=${kit.PREDICTION}` } });
  expect((await again()).calls.map(([name]) => name)).toEqual(["recordSearchEnded", "reportRun"]);
  expect(await runsAtProvider()).toHaveLength(2);
});

test.each<[string, Partial<SubmitTask>, Partial<SubmitTask>?]>([
  ["text alone, where ours has a picture", {}, withImages(REFERENCE)],
  ["another prompt", { input: { prompt: "Something else" } }],
  ["a reference", withImages(REFERENCE)],
  ["another model", { model: "google/nano-banana-pro" }],
  ["other settings", { model_settings: { ...NANO_BANANA, fixed: { output_format: "jpg" } } }],
])("a run of another prediction with %s → not ours", async (_name, change, ours = {}) => {
  await run({ ...change, id: OTHER }, { publicUrl: null });
  expect((await again(ours, { publicUrl: null })).calls.map(([name]) => name)).toEqual([
    "recordSearchEnded",
    "reportRun",
  ]);
  expect(await runsAtProvider()).toHaveLength(2);
});

test.each([
  ["is ten minutes ahead of the provider's → found all the same", 10, 1],
  ["says that the search begins after the run → not asked for", 12, 2],
])("the answer of a submit was lost, and the database's clock %s", async (_what, minutes, runs) => {
  await run();
  await again({ search_since: new Date(Date.now() + minutes * 60_000) });
  expect(await runsAtProvider()).toHaveLength(runs);
});

test("a run on the list's second page → found", async () => {
  const ours = recordedRun(await run())?.id;
  await Promise.all(Array.from({ length: 100 }, (_, index) => run({ input: { prompt: `Other ${index}` } })));
  const how = { found_by: "text", attempt_without_run: 2 };
  expect((await again()).calls).toEqual([["reportRun", expect.objectContaining({ id: ours }), how]]);
});

test("a page of the provider's list reaches back before the submit → later pages are not read", async () => {
  const created_at = new Date(Date.now() - 3_600_000).toISOString();
  const old = { id: "old", status: "succeeded", model: "a/b", created_at, input: {}, output: null };
  const asked: string[] = [];
  const provider = answering((request) => {
    asked.push(`${request.method} ${new URL(request.url).searchParams.has("cursor")}`);
    if (request.method === "POST") return Response.json({ id: "new", status: "starting" }, { status: 201 });
    return Response.json({ next: `${request.url}&cursor=more`, previous: null, results: [old] });
  });
  await again({}, { provider });
  expect(asked).toEqual(["GET false", "POST false"]);
});

test.each<[string, (request: Request) => Response, number | null]>([
  ["cannot be had", () => Response.json({}, { status: 429, headers: { "retry-after": "3" } }), 3],
  ["has no end", ({ url }) => Response.json({ next: `${url}&more`, previous: null, results: [] }), null],
])(
  "the provider's list %s → the submit is not sent, so that it made no run",
  async (_what, answer, retryAfterSeconds) => {
    const asked: string[] = [];
    const provider = answering((request) => {
      asked.push(request.method);
      return answer(request);
    });
    const { calls } = await again({}, { provider });
    expect(calls).toEqual([["retryPrediction", expect.anything(), { run: "none", retryAfterSeconds }]]);
    expect(new Set(asked)).toEqual(new Set(["GET"]));
    expect(asked.length).toBeLessThan(130);
  },
);

test.each(["ended", "stale", "unknown", "replaced"] as const)(
  "the database says %s after the create → nothing more is done, with a log line",
  async (outcome) => {
    const { calls, lines } = await run({}, { database: { reportRun: async () => outcome } });
    expect(calls.map(([name]) => name)).toEqual(["reportRun"]);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: "warn", event: "submit_discarded", predictionId: kit.PREDICTION, outcome }),
    );
  },
);

test("the log of a submit → has no prompt and no address", async () => {
  const { lines } = await run({ input: { prompt: "Secret lighthouse" }, ...withImages(REFERENCE) });
  expect(lines.join()).toContain(kit.PREDICTION);
  expect(lines.join()).not.toMatch(/lighthouse|token|http/);
});

describe("a search for a prediction that has ended", () => {
  const BY_NAME = { found_by: "name", attempt_without_run: null };
  const CALLBACK = `${PUBLIC}/functions/v1/keyframe-replicate-webhook?prediction=${kit.PREDICTION}&attempt=1`;
  const listed = (id: string, webhook: string) => ({
    ...{ id, model: "google/nano-banana", status: "processing", input: {}, output: null, error: null, logs: "" },
    ...{ created_at: new Date().toISOString(), webhook },
  });
  type Answer = (request: Request) => Response;
  const search = async (answer: Answer, change: Partial<SubmitTask> = {}, submittedAt = Date.now()) => {
    const { deps, calls } = make({ provider: answering(answer), database: { reportRun: async () => "ended" } });
    const { deadline_at: _over, ...task } = kit.submitTask({ search_attempt: 1, ...change });
    const search_since = new Date(submittedAt).toISOString();
    await runTask({ ...task, task: "search", search_since }, deps, kit.never());
    return calls;
  };

  test("a search finds runs whose callback URLs name its prediction or another → its own are recorded, and it ends", async () => {
    const results = [
      listed("run-1", CALLBACK),
      listed("run-2", CALLBACK.replace(kit.PREDICTION, OTHER)),
      listed("run-3", CALLBACK),
    ];
    expect(await search(() => Response.json({ next: null, previous: null, results }))).toEqual([
      ["reportRun", expect.objectContaining({ id: "run-1" }), BY_NAME],
      ["reportRun", expect.objectContaining({ id: "run-3" }), BY_NAME],
      ["recordSearchEnded", 1, 1, false],
    ]);
  });

  test("a search whose model has lost a control → a run with equal text is not ours; later ones are found, it ends", async () => {
    const input = { prompt: "A lighthouse at dusk", seed: 7 };
    const results = [{ ...listed("run-1", ""), input }, listed("run-2", CALLBACK)];
    expect(await search(() => Response.json({ next: null, previous: null, results }), { input })).toEqual([
      ["reportRun", expect.objectContaining({ id: "run-2" }), BY_NAME],
      ["recordSearchEnded", 1, 1, false],
    ]);
  });

  test.each([
    ["ten minutes ago → its list is read to the end", 600, false],
    ["more than ten minutes ago → its list is too long, so that it counts as lost", 610, true],
  ])("the account creates 600 runs a minute, and the submit was %s", async (_what, seconds, isUnproven) => {
    const now = Date.now();
    const list = ({ url }: Request) => {
      const next = new URL(url);
      const page = Number(next.searchParams.get("page") ?? 1); // of the runs of ten seconds
      const created_at = new Date(now - page * 10_000);
      const isLast = created_at <= new Date(next.searchParams.get("created_after") ?? 0);
      next.searchParams.set("page", String(page + 1));
      const results = [{ ...listed("run-1", CALLBACK.replace(kit.PREDICTION, OTHER)), created_at }];
      return Response.json({ next: isLast ? null : next, previous: null, results });
    };
    expect(await search(list, {}, now - seconds * 1000)).toEqual([["recordSearchEnded", 1, 1, isUnproven]]);
  });

  test("a search that cannot get the provider's list → tried again later", async () => {
    expect(await search(() => Response.json({ detail: "Away" }, { status: 503 }))).toEqual([
      ["retryWork", "provider_unavailable"],
    ]);
  });
});

const pollTask = (id = "run"): PollTask => {
  const { provider_output_url: _url, last_error: _error, ...leased } = kit.storeTask("");
  return { ...leased, task: "poll", provider_prediction_id: id };
};

test("a poll → records the run's state", async () => {
  const id = recordedRun(await run())?.id ?? "";
  const first = make();
  await poll(pollTask(id), first.deps, kit.never());
  expect(first.calls).toEqual([["reportRun", expect.objectContaining({ id })]]);
});

const AWAY = { url: "http://127.0.0.1:1/v1", token: "t" };
test.each<[number | null, unknown[]]>([
  [404, ["fail", expect.objectContaining({ code: "provider_lost" }), { retryable: true }]],
  [429, ["retryPrediction", expect.objectContaining({ code: "provider_rate_limited" }), { retryAfterSeconds: 4 }]],
  [401, ["retryPrediction", expect.objectContaining({ code: "provider_unauthorized" }), { retryAfterSeconds: 4 }]],
  [500, ["retryPrediction", expect.objectContaining({ code: "provider_unavailable" }), { retryAfterSeconds: 4 }]],
  [null, ["retryPrediction", expect.objectContaining({ code: "provider_unreachable" }), { retryAfterSeconds: null }]],
])("a poll answered %s → tried again later, or lost and failed, retryable", async (status, call) => {
  const answer = () => Response.json({}, { status: status ?? 200, headers: { "retry-after": "4" } });
  const { deps, calls } = make({ provider: status === null ? AWAY : answering(answer) });
  await poll(pollTask(), deps, kit.never());
  expect(calls).toEqual([call]);
});

const CANCEL = { task: "cancel" as const, ...kit.WORK, id: kit.PREDICTION, attempt: 1, provider_prediction_id: "run" };
const over = (status: string) => ["reportRun", expect.objectContaining({ id: "run", status })];
const LATER_AGAIN = ["recordRunNotCanceled", false];
test.each<[said: number | null, state: string, call: unknown[]]>([
  [200, "canceled", over("canceled")],
  [200, "processing", LATER_AGAIN],
  [404, "unknown", ["recordRunNotCanceled", true]],
  // It has ended: 409 and so on answer the cancel, its state is read then.
  ...[409, 410, 422].map((status): [number, string, unknown[]] => [status, "succeeded", over("succeeded")]),
  ...[401, 429, 500, null].map((status): [number | null, string, unknown[]] => [status, "unknown", LATER_AGAIN]),
])(
  "a cancel of a run, answered %s, while it is %s → its end is recorded, or tried again",
  async (said, state, call) => {
    const provider = answering(({ method }) =>
      Response.json({ id: "run", status: state }, { status: method === "POST" ? (said ?? 200) : 200 }),
    );
    const made = make({ provider: said === null ? AWAY : provider });
    await cancel(CANCEL, made.deps, kit.never());
    expect(made.calls).toEqual([call]);
  },
);

test.each(["id", "project_id", "owner_id", "lease_token"])("a task whose %s would be a path → unreadable", (name) => {
  const { provider_output_url, ...leased } = kit.storeTask("https://replicate.delivery/a.png");
  const poll = { ...leased, task: "poll", provider_prediction_id: "run1" };
  expect(task.safeParse(poll).success).toBe(true);
  expect(task.safeParse({ ...poll, [name]: "../e10adc39-49ba-09ab-0e56-e057f20f883" }).success).toBe(false);
});
