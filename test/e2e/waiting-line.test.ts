import { afterAll, beforeAll, expect, test } from "vitest";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { expectSoundEnd } from "../support/film/ending.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { runsAtProvider } from "../support/film/provider.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// Its own stack, for its runs last until the test lets them end.
let stack: OwnStack;
beforeAll(async () => {
  stack = await startOwnStack();
});
afterAll(() => stack.stop());

test("more starts than places → the rest wait in order, move up when one leaves, and all end; others do not wait", async () => {
  const [limits] = await stack.sql<{ places: number }[]>`
    select max_active_per_owner as places from keyframe_private.settings`;
  const places = limits?.places ?? 0;
  await stack.setRunDelay(60_000);
  const maker = await newFilmMaker(stack);
  const begin = () => maker.start("first-frame", { prompt: promptWith() });
  const running: Prediction[] = [];
  for (let i = 0; i < places; i++) running.push(await begin());
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
  expect(await runsAtProvider(stack, prompt)).toEqual([]);
  const admitted = await stack.sql`
    select id from keyframe.predictions where owner_id = ${maker.userId} and admitted_at is not null
    order by admitted_at, created_at`;
  expect(admitted.map(({ id }) => id)).toEqual(stayed.map(({ predictionId }) => predictionId));
});
