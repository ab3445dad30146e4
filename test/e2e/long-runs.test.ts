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

test("cancelled while the output is copied → the finished copy comes too late, and is removed when its lease has ended", async () => {
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
  const { count } = await stack.sql`
    update keyframe_private.file_removals set due_at = now()
    where name like ${`%${made.predictionId}%`} and due_at > now() + interval '1 minute'`;
  expect(count).toBeGreaterThan(0);
  await expectSoundEnd(stack.sql, made);
});
