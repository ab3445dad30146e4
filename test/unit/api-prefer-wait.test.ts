import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createClock } from "./api-clock.ts";
import {
  failedBody,
  PREDICTION,
  PROJECT,
  predictionRow,
  rate,
  signedFiles,
  startApi,
  succeededFields,
} from "./api-fixture.ts";

type Row = ReturnType<typeof predictionRow>;
const running = { status: "processing", queue_position: null, attempt: 1 };
let clock = createClock();
/** What the row holds after so many milliseconds. */
let rowAt = (_elapsed: number): Row => predictionRow();
/** What a read answers instead, when there is something. */
let readFails: (read: number) => Response | undefined = () => undefined;
let storageFails = false;
let reads = 0;
const api = await startApi(
  (request) => {
    if (request.path.startsWith("/storage/")) {
      return storageFails ? new Response("away", { status: 503 }) : signedFiles(request);
    }
    const prediction = rowAt(clock.elapsed());
    if (request.path.endsWith("start_prediction")) return Response.json({ prediction, replayed: false, rate });
    reads += 1;
    return readFails(reads) ?? Response.json({ prediction, rate: { ...rate, policy: "read", remaining: 100 - reads } });
  },
  { clock: { now: () => clock.now(), elapsed: () => clock.elapsed(), sleep: (ms, signal) => clock.sleep(ms, signal) } },
);
afterAll(api.stop);
beforeEach(() => {
  clock = createClock();
  rowAt = () => predictionRow();
  readFails = () => undefined;
  storageFails = false;
  reads = 0;
  api.seen.length = 0;
});

const where = `projectId=${PROJECT}&predictionId=${PREDICTION}`;
const read = (headers: Record<string, string>, init: RequestInit = {}) =>
  api.call(`/api/projects/generate/first-frame?${where}`, { ...init, headers });
const start = (headers: Record<string, string>) =>
  api.post("/api/projects/generate/first-frame", { projectId: PROJECT, prompt: "my prompt" }, headers);
const statusOf = async (response: Response) => (await response.json()).data.status;
const refusal = (code: string, hint = "") =>
  Response.json({ code: "KEYFR", message: code, details: "A sentence.", hint }, { status: 400 });
const rateLimited = () =>
  refusal("rate_limited", JSON.stringify({ policy: "read", limit: 100, window_seconds: 5, wait_seconds: 1 }));

describe("a start with Prefer: wait that was made, and then", () => {
  const ended = () => predictionRow({ ...succeededFields, queue_position: null, attempt: 1 });

  test("its output cannot be signed → 202 with the prediction as it was at first, and where to read it", async () => {
    rowAt = (elapsed) => (elapsed < 1000 ? predictionRow() : ended());
    storageFails = true;
    const response = await start({ prefer: "wait=20" });
    expect([response.status, await statusOf(response)]).toEqual([202, "queued"]);
    expect(response.headers.get("location")).toContain(PREDICTION);
    expect(api.log.some((line) => line.includes("start_answered_early"))).toBe(true);
  });

  test.each([
    ["is gone with its project", () => refusal("not_found")],
    ["is not found, because the database is being changed", () => Response.json({ code: "PGRST202" }, { status: 404 })],
    ["has another shape", () => Response.json({ prediction: {} })],
  ])("%s → 202 with the prediction as it was at first", async (_what, answer) => {
    readFails = answer;
    const response = await start({ prefer: "wait=20" });
    expect([response.status, await statusOf(response)]).toEqual([202, "queued"]);
  });
});

describe("a status read with Prefer: wait", () => {
  test("the status changes meanwhile → 200 with the new one, at once, and the wait that was granted", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 3000 ? {} : running);
    const response = await read({ prefer: "wait=60" });
    expect([response.status, response.headers.get("preference-applied")]).toEqual([200, "wait=25"]);
    expect(await statusOf(response)).toBe("processing");
    expect(clock.elapsed()).toBeLessThanOrEqual(4000);
    // Not of the first look, but how the limit stands now.
    expect(response.headers.get("ratelimit")).toBe(`"read";r=${100 - reads};t=1`);
  });

  test("it stays as it is → 200 with the last state, after N seconds and at most 28 reads", async () => {
    rowAt = (elapsed) => predictionRow({ ...running, progress: elapsed / 100_000 });
    const response = await read({ prefer: "wait=25" });
    expect([response.status, (await response.json()).data.progress]).toEqual([200, 0.25]);
    expect([clock.elapsed(), reads]).toEqual([25_000, 29]); // the first read and 28 looks
    expect(response.headers.get("retry-after")).toBe("1");
  });

  test.each([
    ["succeeded", succeededFields],
    ["canceled", { status: "canceled", completed_at: "2026-11-21T12:00:03+00:00" }],
  ])("it has ended as %s → at once", async (status, fields) => {
    rowAt = () => predictionRow(fields);
    const response = await read({ prefer: "wait=25" });
    expect([await statusOf(response), reads, clock.pauses]).toEqual([status, 1, []]);
    expect(response.headers.get("preference-applied")).toBe("wait=25");
  });

  test.each(["wait=0", "wait=soon", "respond-async", "return=minimal"])(
    "Prefer: %s → no wait, and no Preference-Applied",
    async (prefer) => {
      const response = await read({ prefer });
      expect([response.status, reads, clock.pauses]).toEqual([200, 1, []]);
      expect(response.headers.get("preference-applied")).toBeNull();
    },
  );

  test("each look asks for this very prediction, also where the latest run was asked for", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 500 ? {} : running);
    await api.call(`/api/projects/generate/first-frame?projectId=${PROJECT}`, { headers: { prefer: "wait=5" } });
    const asked = api.seen.map(({ body }) => JSON.parse(new TextDecoder().decode(body)));
    const one = { project_id: PROJECT, step: "first-frame" };
    expect(asked).toEqual([one, { ...one, prediction_id: PREDICTION }, { ...one, prediction_id: PREDICTION }]);
  });

  test("HEAD → held as GET is, and no body", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 3000 ? {} : running);
    const response = await read({ prefer: "wait=25" }, { method: "HEAD" });
    expect([response.status, await response.text(), reads > 1]).toEqual([200, "", true]);
    expect(response.headers.get("etag")).toMatch(/^W\/"processing-/);
  });
});

describe("with If-None-Match", () => {
  const tagOf = async () => (await read({})).headers.get("etag") ?? "";

  test("another status than the caller's → at once, 200", async () => {
    const known = await tagOf();
    rowAt = () => predictionRow(running);
    reads = 0;
    const response = await read({ prefer: "wait=25", "if-none-match": known });
    expect([response.status, await statusOf(response), reads]).toEqual([200, "processing", 1]);
  });

  test("nothing changes → 304 when the time is up, with the wait that was granted", async () => {
    const known = await tagOf();
    const response = await read({ prefer: "wait=2", "if-none-match": known });
    expect([response.status, response.body, clock.elapsed()]).toEqual([304, null, 2000]);
    expect(response.headers.get("preference-applied")).toBe("wait=2");
    expect(response.headers.get("etag")).toBe(known);
  });

  test("the progress alone changes → 200 when the time is up: the status is the same, but the state is not", async () => {
    rowAt = (elapsed) => predictionRow({ ...running, progress: elapsed / 100_000 });
    const known = await tagOf();
    const response = await read({ prefer: "wait=2", "if-none-match": known });
    expect([response.status, (await response.json()).data.progress]).toEqual([200, 0.02]);
  });

  test("it has ended and the caller has it → 304 at once", async () => {
    rowAt = () => predictionRow(succeededFields);
    const known = await tagOf();
    const response = await read({ prefer: "wait=25", "if-none-match": known });
    expect([response.status, clock.pauses]).toEqual([304, []]);
  });
});

describe("during the wait", () => {
  test.each([
    ["the rate is used up", rateLimited],
    ["the database is away", () => Response.json({ code: "PGRST000" }, { status: 503 })],
    ["the session runs out", () => Response.json({ code: "PGRST301", message: "JWT expired" }, { status: 401 })],
  ])("%s → 200 with what was seen last", async (_what, answer) => {
    rowAt = (elapsed) => predictionRow({ ...running, progress: elapsed / 1000 });
    readFails = (nth) => (nth === 3 ? answer() : undefined);
    const response = await read({ prefer: "wait=25" });
    expect([response.status, (await response.json()).data.progress, reads]).toEqual([200, 0.2, 3]);
    expect(response.headers.get("ratelimit")).toBe('"read";r=98;t=1');
    expect(JSON.parse(api.log.at(-1) ?? "")).toMatchObject({ level: "info", status: 200 });
  });

  test("the project is deleted → 404", async () => {
    readFails = (nth) => (nth === 2 ? refusal("not_found") : undefined);
    const response = await read({ prefer: "wait=25" });
    expect([response.status, (await failedBody(response)).error.code]).toEqual([404, "not_found"]);
  });

  test("the caller goes → nothing more is asked", async () => {
    const gone = new AbortController();
    clock.whenSleeping(() => {
      if (clock.pauses.length === 2) gone.abort();
    });
    await read({ prefer: "wait=25" }, { signal: gone.signal });
    expect([reads, clock.pauses.length]).toEqual([2, 2]);
  });
});

test("the first read is refused for its rate → 429 at once, however long the caller would wait", async () => {
  readFails = () => rateLimited();
  const response = await read({ prefer: "wait=25" });
  expect([response.status, reads, clock.pauses]).toEqual([429, 1, []]);
});

describe("a start with Prefer: wait", () => {
  test("it ends meanwhile → 202 with its output, where it is, and how the limit of starts stands", async () => {
    rowAt = (elapsed) =>
      predictionRow(elapsed < 2000 ? {} : elapsed < 6000 ? { ...running, progress: 0.5 } : succeededFields);
    const response = await start({ prefer: "wait=20", "idempotency-key": "k" });
    const { headers } = response;
    expect(response.status).toBe(202);
    expect([headers.get("preference-applied"), headers.get("ratelimit"), headers.get("retry-after")]).toEqual([
      "wait=20",
      '"generate";r=59;t=1',
      null,
    ]);
    expect(headers.get("location")).toBe(`first-frame?${where}`);
    expect(headers.get("etag")).toMatch(/^W\/"succeeded-/);
    expect((await response.json()).data).toMatchObject({
      predictionId: PREDICTION,
      status: "succeeded",
      output: { url: expect.stringContaining("token=t") },
    });
    expect(clock.elapsed()).toBeLessThanOrEqual(7000);
    expect(api.seen.filter(({ path }) => path.endsWith("start_prediction")).length).toBe(1);
  });

  test("a failed generation is a start that worked: 202 with its error", async () => {
    const failed = {
      status: "failed",
      completed_at: "2026-11-21T12:00:03+00:00",
      error_code: "provider_failed",
      error_message: "Change the prompt.",
      error_retryable: true,
    };
    rowAt = (elapsed) => predictionRow(elapsed < 1000 ? {} : failed);
    const response = await start({ prefer: "wait=20" });
    expect([response.status, await statusOf(response)]).toEqual([202, "failed"]);
  });

  test("it starts, but does not end → held on for all of the time, then 202 with how it stands and when to poll", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 1000 ? {} : running);
    const response = await start({ prefer: "wait=4" });
    expect([response.status, await statusOf(response), clock.elapsed()]).toEqual([202, "processing", 4000]);
    expect(response.headers.get("retry-after")).toBe("1");
  });

  test("without it → one call of the database, at once", async () => {
    const response = await start({});
    expect([response.status, reads, clock.pauses]).toEqual([202, 0, []]);
    expect(response.headers.get("preference-applied")).toBeNull();
  });

  test("If-None-Match means nothing here: never a 304", async () => {
    const known = (await start({})).headers.get("etag") ?? "";
    expect((await start({ "if-none-match": known })).status).toBe(202);
  });

  test.each([
    ["the rate of reads is used up", rateLimited],
    ["the database is away", () => new Response("", { status: 503 })],
    ["the session runs out", () => Response.json({ code: "PGRST301", message: "JWT expired" }, { status: 401 })],
  ])(
    "%s while it waits → 202 all the same: it has been started, and would be paid for twice",
    async (_what, answer) => {
      readFails = answer;
      const response = await start({ prefer: "wait=20" });
      expect([response.status, await statusOf(response)]).toEqual([202, "queued"]);
      expect(response.headers.get("location")).toContain(PREDICTION);
    },
  );
});
