import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { download, expectSoundEnd, wholeRow } from "../support/film/ending.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { callbacksFor } from "../support/stack/logs.ts";
import { providerRuns } from "../support/api/provider.ts";
import { setQuickIntervals } from "../support/stack/quick-settings.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// Its own stack, for whether callbacks or polls come first depends on how often it polls.
let stack: OwnStack;
beforeAll(async () => {
  stack = await startOwnStack();
});
afterAll(() => stack.stop());

/** Runs a first frame to its end, which must be a success with one run. */
async function generate(...faults: string[]) {
  const maker = await newFilmMaker(stack);
  const prompt = promptWith(...faults);
  const ended = await maker.untilEnded(await maker.start("first-frame", { prompt }));
  expect(ended).toMatchObject({ status: "succeeded", attempt: 1, error: null });
  await expectSoundEnd(stack.sql, ended);
  expect(await providerRuns(prompt, stack)).toHaveLength(1);
  await download(ended);
  return { ended, row: await wholeRow(stack.sql, ended.predictionId) };
}

/** Waits until so many callbacks were accepted, and answers what came of them. */
const outcomes = (predictionId: string, count: number) =>
  until(`${count} callbacks for ${predictionId} have come`, async () => {
    const seen = await callbacksFor(stack, predictionId);
    return seen.length >= count && seen;
  });

describe("callbacks alone, for the first poll is an hour away", { timeout: 90_000 }, () => {
  beforeAll(() => stack.sql`update keyframe_private.settings set poll_interval = '1 hour' where only_row`);

  test.concurrent("each once → they carry the prediction from start to end", async () => {
    const { ended } = await generate();
    expect(await outcomes(ended.predictionId, 3)).toContain("succeeded recorded");
  });

  test.concurrent("each twice → the second of each that changed something is a duplicate, and the end is one", async () => {
    const { ended, row } = await generate("callback_doubled");
    const seen = await outcomes(ended.predictionId, 6);
    const again = new Set(seen.filter((one) => one.endsWith(" duplicate")));
    again.delete("starting duplicate"); // a change only where it comes before the submit's own answer
    again.delete("processing duplicate"); // unchanged while the first is being recorded: progress waits for no lock
    expect([...again]).toEqual(["succeeded duplicate"]);
    const processing = seen.filter((one) => one.startsWith("processing "));
    expect(processing.filter((one) => one.endsWith(" recorded")).length).toBeLessThanOrEqual(processing.length / 2);
    expect(seen.filter((one) => one === "succeeded recorded")).toHaveLength(1);
    expect(await wholeRow(stack.sql, ended.predictionId)).toBe(row);
  });

  test.concurrent("the last one first → those that follow change nothing", async () => {
    const { ended, row } = await generate("callback_reordered");
    const [first, ...rest] = await outcomes(ended.predictionId, 3);
    expect(first).toBe("succeeded recorded");
    for (const one of rest) expect(one).toMatch(/ (unchanged|ended)$/);
    expect(await wholeRow(stack.sql, ended.predictionId)).toBe(row);
  });
});

describe("callbacks that the poll does not wait for", { timeout: 90_000 }, () => {
  beforeAll(() => setQuickIntervals(stack.sql));

  test.concurrent("none at all → the poll finds the end", async () => {
    const { ended } = await generate("callback_lost");
    expect(await callbacksFor(stack, ended.predictionId)).toEqual([]);
  });

  // Alone, for it moves the provider's clock.
  test("late, after the poll has found the end → they change nothing", async () => {
    const { ended, row } = await generate("callback_late=600000");
    expect(await callbacksFor(stack, ended.predictionId)).toEqual([]);
    const seen = await until("all have come, each ten minutes after the one before", async () => {
      await stack.passTimeAtProvider(600);
      const come = await callbacksFor(stack, ended.predictionId);
      return come.length >= 3 && come;
    });
    expect(seen).toEqual(["starting ended", "processing ended", "succeeded ended"]);
    expect(await wholeRow(stack.sql, ended.predictionId)).toBe(row);
  });
});
