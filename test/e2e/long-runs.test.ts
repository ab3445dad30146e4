import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { expectSoundEnd, wholeRow } from "../support/film/ending.ts";
import { type FilmMaker, newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { callbacksFor, loggedBy } from "../support/stack/logs.ts";
import { providerRuns } from "../support/api/provider.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// Its own stack, for its simulator takes a minute for a run. What a cancel answers is tested in test/api.
let stack: OwnStack;
let maker: FilmMaker;
beforeAll(async () => {
  stack = await startOwnStack();
});
beforeEach(async () => {
  maker = await newFilmMaker(stack);
});
afterEach(() => stack.child("simulator").kill("SIGCONT"));
afterAll(() => stack.stop());

/** Starts a first frame whose run takes so long. */
async function start(runMs: number, ...faults: string[]) {
  await stack.setRunDelay(runMs);
  const prompt = promptWith(...faults);
  return { prompt, made: await maker.start("first-frame", { prompt }) };
}

const MINUTE = 60_000;

const untilIs = (made: Prediction, status: string) =>
  until(`the prediction is ${status}`, async () => {
    const [row] =
      await stack.sql`select from keyframe.predictions where id = ${made.predictionId} and status = ${status}`;
    return row;
  });

const untilProviderSays = (prompt: string, status: string) =>
  until(`the provider's only run is ${status}`, async () => {
    const runs = await providerRuns(prompt, stack);
    return runs.length === 1 && runs[0]?.status === status;
  });

const passDeadline = ({ predictionId }: Prediction) =>
  stack.sql`update keyframe.predictions set deadline_at = now() - interval '1 second' where id = ${predictionId}`;

test("cancelled while the provider still takes the run → the run is cancelled as soon as it is known", async () => {
  await stack.setRunDelay(MINUTE);
  stack.child("simulator").kill("SIGSTOP");
  const prompt = promptWith("callback_lost");
  const made = await maker.start("first-frame", { prompt });
  await until("it is being submitted", async () => {
    const [row] = await stack.sql`
      select from keyframe.predictions where id = ${made.predictionId} and attempt = 1 and lease_token is not null`;
    return row;
  });
  expect(await maker.cancel(made)).toMatchObject({ status: "canceled", startedAt: null });
  stack.child("simulator").kill("SIGCONT");
  await untilProviderSays(prompt, "canceled");
  await expectSoundEnd(stack.sql, made);
  expect(await maker.read(made)).toMatchObject({ status: "canceled" });
});

test("past its deadline while it runs → failed as deadline_exceeded, its run cancelled at the provider", async () => {
  const { made, prompt } = await start(MINUTE);
  await untilIs(made, "processing");
  await passDeadline(made);
  const ended = await maker.untilEnded(made);
  expect(ended).toMatchObject({ status: "failed", error: { code: "deadline_exceeded", retryable: true } });
  const row = await wholeRow(stack.sql, made.predictionId);
  await untilProviderSays(prompt, "canceled");
  await until("the provider's last word has come", async () => {
    return (await callbacksFor(stack, made.predictionId)).includes("canceled ended");
  });
  expect(await wholeRow(stack.sql, made.predictionId)).toBe(row);
  await expectSoundEnd(stack.sql, made);
});

test("past its deadline while the provider is away → failed as deadline_exceeded, no run paid for", async () => {
  const { made, prompt } = await start(0, "rate_limited=1000");
  await passDeadline(made);
  const ended = await maker.untilEnded(made);
  expect(ended).toMatchObject({ status: "failed", error: { code: "deadline_exceeded" } });
  expect(await providerRuns(prompt, stack)).toEqual([]);
  await expectSoundEnd(stack.sql, made);
});

test("cancelled while the output is copied → the finished copy comes too late and is removed", async () => {
  const { made } = await start(0, "output_slow=1500");
  await until("somebody copies it", async () => {
    const [row] = await stack.sql`
      select from keyframe.predictions where id = ${made.predictionId} and status = 'storing' and lease_token is not null`;
    return row;
  });
  await maker.cancel(made);
  expect(await maker.untilEnded(made)).toMatchObject({ status: "canceled", output: null });
  const row = await wholeRow(stack.sql, made.predictionId);
  await until("the copy was too late", async () => {
    const lines = await loggedBy(stack, "keyframe-generate", made.predictionId);
    return lines.some(({ event }) => event === "output_too_late");
  });
  expect(await wholeRow(stack.sql, made.predictionId)).toBe(row);
  await expectSoundEnd(stack.sql, made);
});

test("more starts than slots → the rest wait in order, move up when one leaves, and all end; others do not wait", async () => {
  const [limits] = await stack.sql`select max_active_per_owner as slots from keyframe_private.settings`;
  await stack.setRunDelay(MINUTE);
  const begin = () => maker.start("first-frame", { prompt: promptWith() });
  const running: Prediction[] = [];
  for (let i = 0; i < limits?.slots; i++) running.push(await begin());
  expect(running.filter(({ queuePosition }) => queuePosition)).toEqual([]); // 0 while it is queued, null once it runs
  const [next, second, third] = [await begin(), await begin(), await begin()];
  const prompt = promptWith();
  const leaving = await maker.start("first-frame", { prompt });
  const last = await begin();
  expect([next, second, third, leaving, last].map(({ queuePosition }) => queuePosition)).toEqual([1, 2, 3, 4, 5]);

  expect(await maker.cancel(leaving)).toMatchObject({ status: "canceled", queuePosition: null });
  const moved = await Promise.all([next, second, third, last].map(maker.read));
  expect(moved.map(({ queuePosition }) => queuePosition)).toEqual([1, 2, 3, 4]);

  const other = await newFilmMaker(stack);
  const quick = await other.start("first-frame", { prompt: promptWith() });
  await until("another user's prediction runs", async () => (await other.read(quick)).status === "processing");
  expect(await maker.read(next)).toMatchObject({ status: "queued", queuePosition: 1, startedAt: null });

  await stack.setRunDelay(0);
  await stack.passTimeAtProvider(61);
  const stayed = [...running, next, second, third, last];
  for (const made of stayed) {
    expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded", queuePosition: null });
    await expectSoundEnd(stack.sql, made);
  }
  expect(await maker.read(leaving)).toMatchObject({ status: "canceled", startedAt: null });
  expect(await providerRuns(prompt, stack)).toEqual([]);
  const admitted = await stack.sql`
    select id from keyframe.predictions where owner_id = ${maker.userId} and admitted_at is not null
    order by admitted_at, created_at`;
  expect(admitted.map(({ id }) => id)).toEqual(stayed.map(({ predictionId }) => predictionId));
});
