import { afterAll, describe, expect, inject, test } from "vitest";
import { download, expectSoundEnd } from "../support/film/ending.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { callbacksFor } from "../support/stack/logs.ts";
import { runsAtProvider } from "../support/film/provider.ts";
import { connect } from "../support/stack/own-stack.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
afterAll(() => sql.end({ timeout: 1 }));

describe.concurrent("an answer to a submit that is no success", () => {
  async function generate(...faults: string[]) {
    const maker = await newFilmMaker(stack);
    const prompt = promptWith(...faults);
    const ended = await maker.untilEnded(await maker.start("first-frame", { prompt }), 28);
    await expectSoundEnd(sql, ended);
    return { ended, prompt, runs: await runsAtProvider(stack, prompt) };
  }
  const secondsToStart = ({ createdAt, startedAt }: { createdAt: string; startedAt: string | null }) =>
    (Date.parse(startedAt ?? "") - Date.parse(createdAt)) / 1000;

  test("429 twice with retry_after 1 → waited out both times, then succeeded with one run", async () => {
    const { ended, runs } = await generate("rate_limited=2");
    expect(ended).toMatchObject({ status: "succeeded", attempt: 3 });
    expect(runs).toHaveLength(1);
    expect(secondsToStart(ended)).toBeGreaterThanOrEqual(2);
    await download(ended);
  });

  test("500 twice → tried again, succeeded with one run", async () => {
    const { ended, runs } = await generate("server_error=2");
    expect(ended).toMatchObject({ status: "succeeded", attempt: 3 });
    expect(runs).toHaveLength(1);
  });

  test("500 without end → failed after the allowed number of tries, no run paid for", async () => {
    const [limits] = await sql<{ max: number }[]>`select max_failures as max from keyframe_private.settings`;
    const { ended, runs } = await generate("server_error=1000");
    expect(ended).toMatchObject({ status: "failed", error: { code: "provider_unavailable", retryable: true } });
    expect(ended.attempt).toBe(limits?.max);
    expect(runs).toHaveLength(0);
  });

  test("no answer at all → given up after its patience, tried again, one run", async () => {
    const { ended, runs } = await generate("timeout");
    expect(ended).toMatchObject({ status: "succeeded", attempt: 2 });
    expect(runs).toHaveLength(1);
  });

  test("accepted but the answer lost → the callbacks name the run, which is paid for once", async () => {
    const { ended, runs } = await generate("lost_answer");
    expect(ended.status).toBe("succeeded");
    expect(runs).toHaveLength(1);
    await download(ended);
  });

  test("accepted, the answer and every callback lost → the orphan is found in the list by its text, which no other prediction submitted, and adopted: no second run", async () => {
    const { ended, runs } = await generate("lost_answer", "callback_lost");
    expect(ended).toMatchObject({ status: "succeeded", attempt: 2 });
    expect(runs).toHaveLength(1);
    expect(await callbacksFor(stack, ended.predictionId)).toEqual([]);
    const known = await sql`
      select provider_prediction_id as id from keyframe_private.provider_runs where prediction_id = ${ended.predictionId}`;
    expect(known.map(({ id }) => id)).toEqual(runs.map(({ id }) => id));
    await download(ended);
  });
});
