import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { pause } from "../../../shared/platform/retry.ts";
import { holdAnswer, readWait } from "../../../shared/api/http/hold-answer.ts";
import {
  failedBody,
  NOW,
  PREDICTION,
  PROJECT,
  predictionRow,
  rate,
  signedFiles,
  startApi,
  succeededFields,
} from "./fixture.ts";

// Held answers by a clock of the test's own, and what fails meanwhile.

/** A clock that stands until somebody sleeps, and then goes on at once. `pauses` are the sleeps so far, in milliseconds. */
function createClock() {
  let at = NOW.getTime();
  const pauses: number[] = [];
  let onSleep = () => {};
  return {
    pauses,
    now: () => new Date(at),
    /** As the real one, an aborted sleep is over at once. Time goes on all the same, or who sleeps again for ever would never end. */
    sleep: async (ms: number, signal: AbortSignal) => {
      if (signal.aborted) at += 100;
      if (signal.aborted) return;
      pauses.push(ms);
      onSleep();
      if (!signal.aborted) at += ms;
    },
    /** Milliseconds since the clock was made. */
    elapsed: () => at - NOW.getTime(),
    advance: (ms: number) => {
      at += ms;
    },
    whenSleeping: (then: () => void) => {
      onSleep = then;
    },
  };
}

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

const refusedForItsRate = () =>
  refusal("rate_limited", JSON.stringify({ policy: "read", limit: 100, window_seconds: 5, wait_seconds: 1 }));

/** What may come to pass during a wait, and ends it without failing the request. */
const ENDS_THE_WAIT: [string, () => Response][] = [
  ["the database is away", () => Response.json({ code: "PGRST000" }, { status: 503 })],
  ["the session runs out", () => Response.json({ code: "PGRST301", message: "JWT expired" }, { status: 401 })],
];

test("a start repeated after its end, while Storage is away → 503, so that it can be repeated, not 202 without an output", async () => {
  rowAt = () => predictionRow(succeededFields);
  storageFails = true;
  const response = await start({});
  expect([response.status, (await failedBody(response)).error.code]).toEqual([503, "unavailable"]);
  expect(api.seen.filter(({ path }) => path.startsWith("/storage/"))).toHaveLength(1);
  expect(api.log.join()).not.toContain("start_answered_early");
});

describe("a start with Prefer: wait", () => {
  test.each<[string, () => Response]>([
    ...ENDS_THE_WAIT,
    ["it is gone with its project", () => refusal("not_found")],
    ["it is not found: the database is changing", () => Response.json({ code: "PGRST202" }, { status: 404 })],
    ["it has another shape", () => Response.json({ prediction: {} })],
  ])(
    "a wait whose poll fails: %s → 202 as at first, since the run has been started and would be paid for twice",
    async (_what, answer) => {
      readFails = answer;
      const response = await start({ prefer: "wait=20" });
      expect([response.status, await statusOf(response)]).toEqual([202, "queued"]);
      expect(response.headers.get("location")).toBe(`first-frame?${where}`);
    },
  );

  test("a start with Prefer: wait ends, but its output cannot be signed → 202 as at first, and a log line", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 1000 ? {} : succeededFields);
    storageFails = true;
    const response = await start({ prefer: "wait=20" });
    expect([response.status, await statusOf(response)]).toEqual([202, "queued"]);
    expect(response.headers.get("location")).toBe(`first-frame?${where}`);
    expect(api.log.some((line) => line.includes("start_answered_early"))).toBe(true);
  });
});

test("GET and HEAD with the ETag of a running prediction → 304 with that ETag and Retry-After, without a body", async () => {
  rowAt = () => predictionRow(running);
  const tag = (await read({})).headers.get("etag") ?? "";
  for (const method of ["GET", "HEAD"]) {
    const response = await read({ "if-none-match": tag }, { method });
    expect([response.status, await response.text(), response.headers.get("etag")]).toEqual([304, "", tag]);
    expect([response.headers.get("retry-after"), response.headers.get("content-type")]).toEqual(["1", null]);
    expect(response.headers.get("ratelimit-policy")).toBe('"read";q=60;w=60');
  }
});

describe("a status read with Prefer: wait", () => {
  test("a read with Prefer: wait whose status changes → 200 with it within a second, the granted wait and the current limit", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 3000 ? {} : running);
    const response = await read({ prefer: "wait=60" });
    expect([response.status, await statusOf(response)]).toEqual([200, "processing"]);
    expect(response.headers.get("preference-applied")).toBe("wait=25");
    expect(clock.elapsed()).toBeLessThanOrEqual(4000);
    expect(response.headers.get("ratelimit")).toBe(`"read";r=${100 - reads};t=1`);
  });

  test.each<Record<string, string>>([{}, { "if-none-match": "its own" }])(
    "only the progress changes, %j → 200 with the last state when the time is up, after at most 28 polls",
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

  test("the polls during a wait → ask for the same prediction, also where the latest one was requested", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 500 ? {} : running);
    await read({ prefer: "wait=5" }, {}, `projectId=${PROJECT}`);
    const asked = api.seen.map(({ body }) => JSON.parse(new TextDecoder().decode(body)));
    const one = { project_id: PROJECT, step: "first-frame" };
    const look = { ...one, prediction_id: PREDICTION, waiting: true };
    expect(asked).toEqual([one, look, look]);
  });

  const ANOTHER = { ...running, id: crypto.randomUUID() };
  const latest = `projectId=${PROJECT}`;
  test.each<[what: string, before: object, now: object, query: string, status: number]>([
    ["the status has changed since its tag", {}, running, where, 200],
    ["the latest run is another one of the same status", ANOTHER, running, latest, 200],
    ["it has ended already, and the caller has it", succeededFields, succeededFields, where, 304],
  ])(
    "a read with Prefer: wait and an old ETag, and %s → answered at once",
    async (_what, before, now, query, status) => {
      rowAt = () => predictionRow({ ...before });
      const tag = (await read({}, {}, query)).headers.get("etag") ?? "";
      rowAt = () => predictionRow({ ...now });
      const response = await read({ prefer: "wait=25", "if-none-match": tag }, {}, query);
      expect([response.status, clock.pauses]).toEqual([status, []]);
      expect(response.headers.get("preference-applied")).toBe("wait=25");
      expect(response.headers.get("retry-after")).toBe(status === 304 ? null : "1");
      if (status === 200)
        expect((await response.json()).data).toMatchObject({ status: "processing", predictionId: PREDICTION });
    },
  );

  test("HEAD with Prefer: wait → held as GET is, without a body", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 3000 ? {} : running);
    const response = await read({ prefer: "wait=25" }, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(reads).toBeGreaterThan(1);
    expect(response.headers.get("etag")).toMatch(/^W\/"processing-/);
  });

  test.each(ENDS_THE_WAIT)("a poll during a wait fails, %s → 200 with the last state", async (_what, answer) => {
    rowAt = (elapsed) => predictionRow({ ...running, progress: elapsed / 1000 });
    readFails = (nth) => (nth === 3 ? answer() : undefined);
    const response = await read({ prefer: "wait=25" });
    expect([response.status, (await response.json()).data.progress]).toEqual([200, 0.2]);
    expect(reads).toBe(3);
    expect(response.headers.get("ratelimit")).toBe('"read";r=98;t=1');
    expect(JSON.parse(api.log.at(-1) ?? "")).toMatchObject({ level: "info", status: 200 });
  });

  test("polls during a wait are refused for their rate → each next poll comes a second later, and the wait goes on", async () => {
    rowAt = (elapsed) => predictionRow(elapsed < 3000 ? running : succeededFields);
    readFails = (nth) => (nth === 2 || nth === 3 ? refusedForItsRate() : undefined);
    const response = await read({ prefer: "wait=25" });
    expect([response.status, await statusOf(response)]).toEqual([200, "succeeded"]);
    expect(clock.pauses).toEqual([200, 1000, 1000, 1000]);
  });

  test.each<[string, () => Response, number, string]>([
    ["the project is deleted", () => refusal("not_found"), 404, "not_found"],
    ["it has another shape", () => Response.json({ prediction: {} }), 500, "internal"],
  ])("during a wait %s → %s", async (_what, answer, status, code) => {
    readFails = (nth) => (nth === 2 ? answer() : undefined);
    const response = await read({ prefer: "wait=25" });
    expect([response.status, (await failedBody(response)).error.code]).toEqual([status, code]);
    expect(reads).toBe(2);
  });

  test("the caller of a wait disconnects, before or during it → no further poll", async () => {
    const gone = new AbortController();
    clock.whenSleeping(() => {
      if (clock.pauses.length === 2) gone.abort();
    });
    await read({ prefer: "wait=25" }, { signal: gone.signal });
    expect([reads, clock.pauses.length]).toEqual([2, 2]);
    await read({ prefer: "wait=25" }, { signal: gone.signal });
    expect([reads, clock.pauses.length]).toEqual([3, 2]);
  });
});

test("the first read with Prefer: wait is refused for its rate → 429 at once, however long the caller would wait", async () => {
  readFails = refusedForItsRate;
  const response = await read({ prefer: "wait=25" });
  expect(response.status).toBe(429);
  expect(reads).toBe(1);
  expect(clock.pauses).toEqual([]);
});

describe("the wait itself", () => {
  /** Holds an answer that never changes. Each look takes `lookMs`. */
  async function hold(seconds: number, lookMs = 0) {
    const clock = createClock();
    let looks = 0;
    const readAgain = async () => {
      clock.advance(lookMs);
      looks += 1;
      return looks;
    };
    const { signal } = new AbortController();
    expect(await holdAnswer(0, { seconds, readAgain, isDone: () => false, signal }, clock)).toBe(looks);
    return { looks, elapsed: clock.elapsed(), pauses: clock.pauses };
  }

  test("a wait without a change → the last state, when the time is up and not later", async () => {
    expect(await hold(3)).toEqual({ looks: 6, elapsed: 3000, pauses: [200, 300, 450, 675, 1000, 375] });
  });

  test("slow polls during a wait → count in its time, and there are fewer of them", async () => {
    const { looks, elapsed } = await hold(10, 4000);
    expect([looks, elapsed < 15_000]).toEqual([3, true]);
  });
});

describe("Prefer", () => {
  test.each<[number, (string | null)[]]>([
    [1, ["wait=1"]],
    [25, ["wait=25", "wait=26", "wait=86400", "wait=99999999999999999999", `wait=${"9".repeat(400)}`]],
    [5, ["WAIT=5", "wait = 5", 'wait="5"', "wait=05", " wait=5 ", "return=minimal;foo, wait=5;bar=baz"]],
    [5, ["respond-async, wait=5", "wait=5, respond-async", "wait=5, wait=9"]], // the first that is understood counts
    [9, ["foo=bar, wait=9, wait=5"]],
    [0, [null, "", "wait", "wait=", "wait=0", "wait=00", "wait=-1", "wait=+1", "wait=1.5", "wait=1e1", "wait=0x10"]],
    [0, ["wait=ten", "wait=5s", "wait=٥", "await=5", "no-wait=5", "wait5", "wait:5", "foo wait=5", "foo; wait=5"]],
    [0, ["wait=5 6"]],
  ])("Prefer is read as %i seconds: %j", (seconds, given) => {
    for (const prefer of given) expect([prefer, readWait(prefer)]).toEqual([prefer, seconds]);
  });

  test.each([",", " ", "wait=", ",wait=1x", "9", ", ", ",wait=9 ", '"', "wait"])(
    "Prefer with 64 KiB of %j → read in no time",
    (piece) => {
      const filler = piece.repeat(65_536 / piece.length);
      const began = performance.now();
      for (const prefer of [filler, `wait=1${filler}x`, `wait${filler}x`, `,${filler}x`]) {
        expect(readWait(prefer)).toBeLessThanOrEqual(25);
      }
      expect(performance.now() - began).toBeLessThan(2000); // a search that goes back and forth takes many seconds
    },
  );
});

test("a pause that is aborted, before or meanwhile, or of 0 milliseconds → ends at once", async () => {
  const gone = new AbortController();
  const asleep = pause(600_000, gone.signal);
  gone.abort();
  await asleep;
  await pause(600_000, gone.signal);
  await pause(0, new AbortController().signal);
});
