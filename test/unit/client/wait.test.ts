import { expect, test } from "vitest";
import { GenerationError, hasEnded, mustSucceed } from "../../../client/index.ts";
import { type Prediction, prediction, predictionStatus } from "../../../shared/contract/predictions.ts";
import { SAMPLE_FILM, SAMPLE_PREDICTION } from "../../../shared/contract/samples.ts";
import { until } from "../../support/until.ts";
import {
  breakOff,
  hang,
  predictionWith,
  REF,
  refusal,
  type Turn,
  useScriptedServer,
} from "../../support/client/server.ts";

const server = await useScriptedServer();

type How = { tag?: string; told?: string; held?: number };

/** An answer of the status endpoint; without fields 304. `held`: how long the service held it, in ms. */
const answer =
  (fields: Partial<Prediction> | null, { tag, told = "2", held }: How): Turn =>
  (response) => {
    server.time.pass(held ?? 0);
    response.writeHead(fields === null ? 304 : 200, {
      ...(tag === undefined ? {} : { etag: `W/"${tag}"` }),
      ...(fields?.completedAt === undefined ? { "retry-after": told } : {}),
      ...(held === undefined ? {} : { "preference-applied": "wait=25" }),
    });
    response.end(fields && JSON.stringify({ success: true, data: predictionWith(fields), error: null }));
  };
const state = (fields: Partial<Prediction>, how: How = {}) => answer(fields, how);
const same = (how: How = {}) => answer(null, { tag: "a", ...how });

/** Waits while the service answers so, with as little chance as can be. */
function waitFor(turns: Turn[], options?: Parameters<ReturnType<typeof server.client>["waitFor"]>[1]) {
  server.play(...turns);
  return server.client({ random: () => 0 }).waitFor(REF, options);
}

const ended = { status: "succeeded", completedAt: "2026-03-01T00:01:00Z", progress: 1 } as const;
const headersOf = (name: string) => server.seen.map(({ headers }) => headers[name]);
/** The time between one request and the next, in ms. */
const gaps = () => server.seen.slice(1).map(({ at }, index) => at - (server.seen[index]?.at ?? 0));

test("waitFor of a service without ETags and waits → polls at the service's pace, never earlier", async () => {
  for (const chance of [0, 0.999]) {
    server.play(
      state({}, { told: "1" }),
      state({ status: "starting" }, { told: "4" }),
      state({}, { told: "0" }),
      state(ended),
    );
    const made = await server.client({ random: () => chance }).waitFor(REF);
    expect(made).toMatchObject(ended);
    const [first = 0, second = 0, third = 0] = gaps();
    expect(first).toBeGreaterThanOrEqual(1000);
    expect(second).toBeGreaterThanOrEqual(4000);
    expect(second).toBeLessThan(4400);
    // A Retry-After of 0 is no reason to run hot.
    expect(third).toBeGreaterThanOrEqual(200);
    expect(headersOf("if-none-match")).toEqual([undefined, undefined, undefined, undefined]);
    expect(headersOf("prefer")).toEqual([undefined, undefined, undefined, undefined]);
  }
});

test("waitFor without Retry-After → a second between two polls", async () => {
  await waitFor([{ data: predictionWith() }, state(ended)]);
  expect(gaps()).toEqual([1000]);
});

test("waitFor of a service with ETags but no waits → conditional polls; 304 keeps the state; without a tag → a plain poll", async () => {
  const lost = state({ status: "starting" });
  await waitFor([state({}, { tag: "a" }), same(), same(), state({}, { tag: "b" }), lost, state(ended)]);
  expect(headersOf("if-none-match")).toEqual([undefined, 'W/"a"', 'W/"a"', 'W/"a"', 'W/"b"', undefined]);
  for (const gap of gaps()) expect(gap).toBeGreaterThanOrEqual(2000);
});

test("waitFor of a service with waits → holds of 25 s, and again at once when the status changed or the time was up", async () => {
  await waitFor([
    state({}, { tag: "a" }),
    same({ held: 25_000 }),
    state({ status: "starting" }, { tag: "b", held: 300 }),
    state({ status: "processing" }, { tag: "c", held: 100 }),
    state(ended, { held: 9000 }),
  ]);
  expect(headersOf("prefer")).toEqual([undefined, "wait=25", "wait=25", "wait=25", "wait=25"]);
  // The first look was not held: two seconds' pause. The others came at once, so what lies between is the holding.
  expect(gaps()).toEqual([2000, 25_000, 300, 100]);
});

test("waitFor of a service that only claims to wait → polls at the service's pace", async () => {
  await waitFor([state({}, { tag: "a" }), same({ held: 0 }), same({ held: 500 }), state(ended)]);
  expect(gaps()).toEqual([2000, 2000, 2000]);
});

test("waitFor of generate's answer → the first poll is held already, by the ETag of that answer", async () => {
  const keyframe = server.client();
  server.play({ status: 202, headers: { etag: 'W/"s"', "retry-after": "2" }, data: predictionWith() }, state(ended));
  const started = await keyframe.generate("video", { projectId: REF.projectId });
  await keyframe.waitFor(started);
  expect([server.seen[1]?.headers["if-none-match"], server.seen[1]?.headers.prefer]).toEqual(['W/"s"', "wait=25"]);
  expect(gaps()).toEqual([0]);
});

test("waitFor of generate's answer without an ETag → not polled before its Retry-After", async () => {
  const keyframe = server.client({ random: () => 0 });
  server.play({ status: 202, headers: { "retry-after": "3" }, data: predictionWith() }, state(ended));
  await keyframe.waitFor(await keyframe.generate("video", { projectId: REF.projectId }));
  expect(gaps()).toEqual([3000]);
});

test("waitFor with onProgress → holds as short as the pace, and onProgress gets every change once", async () => {
  const told: unknown[] = [];
  const onProgress = ({ status, progress, queuePosition }: Prediction) =>
    void told.push([status, progress, queuePosition]);
  await waitFor(
    [
      state({ queuePosition: 2 }, { tag: "a" }),
      same({ held: 2000 }),
      state({ queuePosition: 1 }, { tag: "b", held: 2000 }),
      state({ status: "processing", progress: 0.25 }, { tag: "c", held: 700 }),
      state({ status: "processing", progress: 0.25, attempt: 1 }, { tag: "d", held: 2000 }),
      state({ status: "processing", progress: 0.5 }, { tag: "e", held: 2000 }),
      state(ended, { held: 100 }),
    ],
    { onProgress },
  );
  expect(told).toEqual([
    ["queued", null, 2],
    ["queued", null, 1],
    ["processing", 0.25, null],
    ["processing", 0.5, null],
    ["succeeded", 1, null],
  ]);
  expect(new Set(headersOf("prefer").slice(1))).toEqual(new Set(["wait=2"]));
  expect(gaps()).toEqual([2000, 2000, 2000, 700, 2000, 2000]);
});

test("waitFor of a known prediction → reported first; an ended one → returned without a poll", async () => {
  const told: string[] = [];
  const onProgress = ({ status }: Prediction) => void told.push(status);
  server.play(state(ended));
  await server.client().waitFor(predictionWith({ status: "starting" }), { onProgress });
  expect(told).toEqual(["starting", "succeeded"]);
  server.play();
  const failed = predictionWith({ status: "failed" });
  expect(await server.client().waitFor(failed)).toBe(failed);
  expect(server.seen).toEqual([]);
});

test("waitFor of a film's take, whose input has no elements → read, so that the answer is complete", async () => {
  const { input, ...take } = predictionWith(ended);
  const { elements: _, ...shownInput } = input;
  const shown = { ...take, input: shownInput };
  server.play(state(ended));
  expect(await server.client().waitFor(shown)).toMatchObject({ input: { elements: [] } });
});

test.each(["failed", "canceled"] as const)(
  "waitFor of a generation that ends %s → resolves with it",
  async (status) => {
    expect(await waitFor([state({ status, completedAt: "2026-03-01T00:01:00Z" })])).toMatchObject({ status });
  },
);

test("waitFor during an outage, with all kinds of failures → waits on, keeps Retry-After; the poll after it is not held", async () => {
  expect(
    await waitFor([
      state({}, { tag: "a" }),
      refusal(503, "unavailable", { "retry-after": "5" }),
      breakOff,
      { status: 524, text: "<h1>524</h1>" },
      refusal(429, "rate_limited", { "retry-after": "90" }),
      same(),
      state(ended),
    ]),
  ).toMatchObject(ended);
  expect(gaps()).toEqual([2000, 5000, 500, 1000, 90_000, 2000]);
  expect(headersOf("prefer")).toEqual([undefined, "wait=25", undefined, undefined, undefined, undefined, "wait=25"]);
});

test.each<[what: string, turn: Turn, code: string]>([
  ["no answer", breakOff, "network"],
  ["503 with the service's own Retry-After", refusal(503, "unavailable", { "retry-after": "2" }), "unavailable"],
  ["429: too many waits of one user", refusal(429, "rate_limited", { "retry-after": "1" }), "rate_limited"],
])("waitFor during an endless outage, %s → gives up after minutes, with the last failure", async (_, turn, code) => {
  server.play(...Array.from({ length: 40 }, () => turn));
  const began = server.time.clock.now();
  await expect(server.client({ random: () => 0.5 }).waitFor(REF)).rejects.toMatchObject({ code });
  const minutes = (server.time.clock.now() - began) / 60_000;
  expect([server.seen.length, minutes > 5 && minutes < 10]).toEqual([21, true]);
});

test("waitFor with failures between successes → never gives up", async () => {
  const turns = Array.from({ length: 30 }, () => [breakOff, state({})]).flat();
  expect(await waitFor([...turns, state(ended)])).toMatchObject(ended);
});

test.each<[what: string, turn: Turn, code: string]>([
  ["not_found", refusal(404, "not_found"), "not_found"],
  ["a page of another user", { text: "<h1>Log in</h1>" }, "not_an_envelope"],
  ["a session that ended for good", refusal(401, "unauthorized"), "unauthorized"],
])("waitFor, answered %s → throws at once", async (_, turn, code) => {
  await expect(waitFor([state({}), turn, state(ended)])).rejects.toMatchObject({ code });
  expect(server.left()).toBe(1);
});

test("waitFor while a session ends → goes on with the new session", async () => {
  let token = "old";
  server.time.onPause(() => {
    token = "new";
  });
  server.play(state({}), state({}), state(ended));
  await server.client({ getToken: () => token }).waitFor(REF);
  server.time.onPause(() => undefined);
  expect(headersOf("authorization")).toEqual(["Bearer old", "Bearer new", "Bearer new"]);
});

test("waitFor with timeoutMs → timeout when it is over, no poll before Retry-After, and no hold beyond it", async () => {
  const began = server.time.clock.now();
  const wait = waitFor([state({}, { tag: "a" }), same({ held: 4000 }), same({ held: 1000 }), state(ended)], {
    timeoutMs: 7500,
  });
  await expect(wait).rejects.toMatchObject({
    code: "timeout",
    status: null,
    message: expect.stringContaining("within 7.5 s"),
  });
  expect(headersOf("prefer")).toEqual([undefined, "wait=5", "wait=1"]);
  expect(server.time.clock.now() - began).toBe(7500);
});

test("waitFor with a held poll that is never answered → timeout when timeoutMs is over", async () => {
  server.play(state({}, { tag: "a" }), hang);
  const outcome = server
    .client({ random: () => 0 })
    .waitFor(REF, { timeoutMs: 8000 })
    .catch(({ code }) => code);
  await until("the held poll is there", () => server.left() === 0);
  expect(server.time.underWay()).toEqual([6000]);
  server.time.pass(6000);
  server.time.endLimits();
  expect(await outcome).toBe("timeout");
});

test("waitFor on a laptop that slept past timeoutMs and the run's end → the end, not a timeout", async () => {
  let asleep = true;
  server.time.onPause(() => {
    if (asleep) server.time.pass(8 * 3_600_000);
    asleep = false;
  });
  expect(await waitFor([state({}), state(ended)], { timeoutMs: 60_000 })).toMatchObject(ended);
  server.time.onPause(() => undefined);
});

test("waitFor while the clock is set back by an hour → timeoutMs is over no later", async () => {
  const wait = waitFor([state({}), state({}, { held: -3_600_000 }), ...Array.from({ length: 9 }, () => state({}))], {
    timeoutMs: 7000,
  });
  await expect(wait).rejects.toMatchObject({ code: "timeout" });
  expect(server.time.pauses).toEqual([2000, 2000, 2000, 1000]);
});

test("onProgress throws → waitFor rejects with that error, and polls no more", async () => {
  server.play(state({}), state(ended));
  const onProgress = () => {
    throw new RangeError("no such element");
  };
  await expect(server.client().waitFor(REF, { onProgress })).rejects.toThrow(RangeError);
  expect(server.left()).toBe(1);
});

/** A read of a film of so many shots, the first of which has this latest video. */
const filmState = (shots: number, video: Partial<Prediction> = {}, headers = {}): Turn => {
  const none = { "first-frame": null, "last-frame": null, video: null };
  const shot = (_: unknown, index: number) => ({
    predictions: index === 0 ? { ...none, video: predictionWith(video) } : none,
    takes: none,
  });
  return { data: { ...SAMPLE_FILM, shots: Array.from({ length: shots }, shot) }, headers };
};
const { filmId } = SAMPLE_FILM;

test.each([
  [1, 1100],
  [30, 4000],
  [500, 10_000],
])(
  "films.waitFor a film of %i shots → read each %i ms until nothing runs in it; onProgress has each state",
  async (shots, pace) => {
    const told: unknown[] = [];
    server.play(filmState(shots), filmState(shots, { progress: 0.5 }), filmState(shots, ended));
    const made = await server
      .client({ random: () => 0 })
      .films.waitFor({ filmId }, { onProgress: (film) => told.push(film.shots[0]?.predictions.video?.progress) });
    expect([made.shots.length, told]).toEqual([shots, [null, 0.5, 1]]);
    expect(gaps()).toEqual([pace, pace]);
    server.play();
    expect(await server.client().films.waitFor(made)).toBe(made); // without asking
  },
);

test("films.waitFor during an outage → waits on, keeps Retry-After; refused → throws; timeoutMs → timeout", async () => {
  const film = server.client({ random: () => 0 }).films;
  const refused = refusal(429, "rate_limited", { "retry-after": "7" });
  server.play(filmState(10), refused, breakOff, filmState(10, {}, { "retry-after": "5" }), filmState(10, ended));
  expect((await film.waitFor({ filmId })).shots).toHaveLength(10);
  expect(gaps()).toEqual([2000, 7000, 500, 5000]);
  server.play(filmState(1), refusal(404, "not_found"));
  await expect(film.waitFor({ filmId })).rejects.toMatchObject({ code: "not_found" });
  server.play(filmState(1), filmState(1), filmState(1));
  const message = expect.stringMatching(/^The film did not end within 2 s/);
  await expect(film.waitFor({ filmId }, { timeoutMs: 2000 })).rejects.toMatchObject({ code: "timeout", message });
  expect(server.left()).toBe(1);
});

test("hasEnded → true for three of the contract's statuses, the final ones", () => {
  const final = predictionStatus.options.filter((status) => hasEnded(predictionWith({ status })));
  expect(final).toEqual(["succeeded", "failed", "canceled"]);
});

test("mustSucceed of a succeeded prediction → the same prediction", () => {
  const made = prediction.parse(SAMPLE_PREDICTION);
  expect(mustSucceed(made)).toEqual(made);
});

const failed = (retryable: boolean) => ({ code: "provider_failed" as const, message: "The model said no.", retryable });

test.each<[Partial<Prediction>, object, string]>([
  [{ status: "failed", error: failed(true) }, { code: "provider_failed", retryable: true }, "The model said no."],
  [{ status: "failed", error: failed(false) }, { code: "provider_failed", retryable: false }, "The model said no."],
  [{ status: "canceled" }, { code: "canceled", retryable: true }, "no reason given"],
  [{ status: "processing" }, { code: "processing" }, "no reason given"],
])("mustSucceed of %j → GenerationError with its code, sentence and retryable", (fields, thrown, sentence) => {
  const ended = predictionWith(fields);
  const message = `video ${fields.status}: ${sentence}`;
  expect(() => mustSucceed(ended)).toThrow(GenerationError);
  expect(() => mustSucceed(ended)).toThrow(expect.objectContaining({ message, prediction: ended, ...thrown }));
});
