import { afterAll, describe, expect, inject, test } from "vitest";
import { uploadedReferenceImage } from "../../shared/contract/predictions.ts";
import { download, expectSoundEnd } from "../support/film/ending.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { callbacksFor } from "../support/stack/logs.ts";
import { providerRuns } from "../support/api/provider.ts";
import { drawImage } from "../support/media/images.ts";
import { connect } from "../support/stack/own-stack.ts";

// No answer at all: test/unit/generate-provider.

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
afterAll(() => sql.end({ timeout: 1 }));

describe.concurrent("an answer to a submit that is no success", { timeout: 90_000 }, () => {
  async function generate(faults: string[], withPicture = false) {
    const maker = await newFilmMaker(stack);
    const prompt = promptWith(...faults);
    const upload = async () =>
      await maker.call(uploadedReferenceImage, "POST", "/api/projects/reference-images", await drawImage());
    const made = await maker.start("first-frame", { prompt, ...(withPicture ? await upload() : {}) });
    const ended = await maker.untilEnded(made);
    await expectSoundEnd(sql, ended);
    return { ended, runs: await providerRuns(prompt, stack) };
  }

  test("429 twice with retry_after 1 → waited out both times, then succeeded with one run", async () => {
    const { ended, runs } = await generate(["rate_limited=2"]);
    expect(ended).toMatchObject({ status: "succeeded", attempt: 3 });
    expect(runs).toHaveLength(1);
    expect(Date.parse(ended.startedAt ?? "") - Date.parse(ended.createdAt)).toBeGreaterThanOrEqual(2000);
  });

  test("500 twice → tried again, succeeded with one run", async () => {
    const { ended, runs } = await generate(["server_error=2"]);
    expect(ended).toMatchObject({ status: "succeeded", attempt: 3 });
    expect(runs).toHaveLength(1);
  });

  test("500 without end → failed after the allowed number of tries, no run paid for", async () => {
    const [limits] = await sql<{ max: number }[]>`select max_failures as max from keyframe_private.settings`;
    const { ended, runs } = await generate(["server_error=1000"]);
    expect(ended).toMatchObject({ status: "failed", error: { code: "provider_unavailable", retryable: true } });
    expect([ended.attempt, runs.length]).toEqual([limits?.max, 0]);
  });

  test("accepted but the answer lost → the callbacks name the run, which is paid for once", async () => {
    const { ended, runs } = await generate(["lost_answer"]);
    expect(ended.status).toBe("succeeded");
    expect(runs).toHaveLength(1);
    await download(ended);
  });

  test.each([
    ["by its text, which no other prediction submitted", false],
    ["by the address of its picture, which names the prediction", true],
  ])(
    "accepted, the answer and every callback lost → the orphan is found in the list %s, and adopted: no second run",
    async (_how, withPicture) => {
      const { ended, runs } = await generate(["lost_answer", "callback_lost"], withPicture);
      expect(ended).toMatchObject({ status: "succeeded", attempt: 2 });
      expect(await callbacksFor(stack, ended.predictionId)).toEqual([]);
      const known = await sql`
      select provider_prediction_id as id from keyframe_private.provider_submits where prediction_id = ${ended.predictionId} and provider_prediction_id is not null`;
      expect(known.map(({ id }) => id)).toEqual(runs.map(({ id }) => id));
      expect(runs).toHaveLength(1);
    },
  );
});
