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

// Held answers by a clock of the test's own, and what fails meanwhile. How long is waited: api-hold-answer.test.ts; on the running
// stack: test/api/prefer-wait.test.ts.

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
  api.log.length = 0;
});

const where = `projectId=${PROJECT}&predictionId=${PREDICTION}`;
const read = (headers: Record<string, string>, init: RequestInit = {}, query = where) =>
  api.call(`/api/projects/generate/first-frame?${query}`, { ...init, headers });
const start = (headers: Record<string, string>) =>
  api.post("/api/projects/generate/first-frame", { projectId: PROJECT, prompt: "my prompt" }, headers);
const statusOf = async (response: Response) => (await response.json()).data.status;
const refusal = (code: string, hint = "") =>
  Response.json({ code: "KEYFR", message: code, details: "A sentence.", hint }, { status: 400 });

/** What may come to pass during a wait, and ends it without failing the request. */
const ENDS_THE_WAIT: [string, () => Response][] = [
  [
    "the rate of reads is used up",
    () => refusal("rate_limited", JSON.stringify({ policy: "read", limit: 100, window_seconds: 5, wait_seconds: 1 })),
  ],
  ["the database is away", () => Response.json({ code: "PGRST000" }, { status: 503 })],
  ["the session runs out", () => Response.json({ code: "PGRST301", message: "JWT expired" }, { status: 401 })],
];

describe("a start with Prefer: wait, and while it waits", () => {
  test.each<[string, () => Response]>([
    ...ENDS_THE_WAIT,
    ["it is gone with its project", () => refusal("not_found")],
    [
      "it is not found, because the database is being changed",
      () => Response.json({ code: "PGRST202" }, { status: 404 }),
    ],
    ["it has another shape", () => Response.json({ prediction: {} })],
  ])("%s → 202 as it was at first: it has been started, and would be paid for twice", async (_what, answer) => {
    readFails = answer;
    const response = await start({ prefer: "wait=20" });
    expect([response.status, await statusOf(response)]).toEqual([202, "queued"]);
    expect(response.headers.get("location")).toBe(`first-frame?${where}`);
  });

  test("it ends, but its output cannot be signed → 202 as it was at first, and a line in the log", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 1000 ? {} : succeededFields);
    storageFails = true;
    const response = await start({ prefer: "wait=20" });
    expect([response.status, await statusOf(response)]).toEqual([202, "queued"]);
    expect(response.headers.get("location")).toBe(`first-frame?${where}`);
    expect(api.log.some((line) => line.includes("start_answered_early"))).toBe(true);
  });

  test("it starts and then ends → held until the end, with how the limit of starts stands, not that of reads", async () => {
    rowAt = (elapsed) =>
      predictionRow(elapsed < 2000 ? {} : elapsed < 6000 ? { ...running, progress: 0.5 } : succeededFields);
    const response = await start({ prefer: "wait=20" });
    expect([response.status, await statusOf(response)]).toEqual([202, "succeeded"]);
    expect(clock.elapsed()).toBeLessThanOrEqual(7000);
    expect(response.headers.get("ratelimit")).toBe('"generate";r=59;t=1');
  });
});

describe("a status read with Prefer: wait, and during the wait", () => {
  test("the status changes → 200 with the new one within a second, the wait that was granted, and how the limit stands now", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 3000 ? {} : running);
    const response = await read({ prefer: "wait=60" });
    expect([response.status, await statusOf(response)]).toEqual([200, "processing"]);
    expect(response.headers.get("preference-applied")).toBe("wait=25");
    expect(clock.elapsed()).toBeLessThanOrEqual(4000);
    expect(response.headers.get("ratelimit")).toBe(`"read";r=${100 - reads};t=1`);
  });

  test.each<Record<string, string>>([{}, { "if-none-match": "its own" }])(
    "the progress alone changes, %j → 200 with the last state, but only when the time is up, after at most 28 looks",
    async (headers) => {
      rowAt = (elapsed) => predictionRow({ ...running, progress: elapsed / 100_000 });
      const tag = (await read({})).headers.get("etag") ?? "";
      const known = "if-none-match" in headers ? { "if-none-match": tag } : {};
      reads = 0;
      const response = await read({ prefer: "wait=25", ...known });
      expect([response.status, (await response.json()).data.progress]).toEqual([200, 0.25]);
      expect([clock.elapsed(), reads]).toEqual([25_000, 29]); // the first read and 28 looks
    },
  );

  test("each look asks for this very prediction, also where the latest run was asked for", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 500 ? {} : running);
    await read({ prefer: "wait=5" }, {}, `projectId=${PROJECT}`);
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

  test.each(ENDS_THE_WAIT)("%s → 200 with what was seen last", async (_what, answer) => {
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

  test("it has ended already, and the caller has it → 304 at once", async () => {
    rowAt = () => predictionRow(succeededFields);
    const tag = (await read({})).headers.get("etag") ?? "";
    const response = await read({ prefer: "wait=25", "if-none-match": tag });
    expect([response.status, response.headers.get("preference-applied"), clock.pauses]).toEqual([304, "wait=25", []]);
  });
});

test("the first read is refused for its rate → 429 at once, however long the caller would wait", async () => {
  readFails = ENDS_THE_WAIT[0]?.[1] ?? (() => undefined);
  const response = await read({ prefer: "wait=25" });
  expect([response.status, reads, clock.pauses]).toEqual([429, 1, []]);
});
