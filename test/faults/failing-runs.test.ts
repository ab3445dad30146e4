import { afterAll, describe, expect, inject, test } from "vitest";
import { uploadedReferenceImage } from "../../shared/contract/predictions.ts";
import { download, expectSoundEnd, wholeRow } from "../support/film/ending.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { callbacksFor } from "../support/stack/logs.ts";
import { providerRuns } from "../support/api/provider.ts";
import { drawImage } from "../support/media/images.ts";
import { connect } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
afterAll(() => sql.end({ timeout: 1 }));

describe.concurrent("a run that goes wrong at the provider, or whose output cannot be kept", {
  timeout: 90_000,
}, () => {
  const endings: { fault: string; code: string; retryable?: boolean; runs?: number; message?: string }[] = [
    { fault: "failed=The prompt was flagged.", code: "provider_failed", message: "The prompt was flagged." },
    { fault: "aborted", code: "provider_aborted" },
    { fault: "canceled", code: "provider_canceled" },
    { fault: "rejected", code: "provider_rejected_input", retryable: false, runs: 0 },
    { fault: "output_empty", code: "provider_no_output" },
    { fault: "output_expired", code: "output_expired" },
    { fault: "output_not_image", code: "output_not_usable" },
    { fault: "output_huge", code: "output_too_large", retryable: false },
    { fault: "output_huge=chunked", code: "output_too_large", retryable: false },
  ];
  test.each(endings)("$fault → failed once with $code, nothing kept in Storage", async (ending) => {
    const {
      fault,
      code,
      retryable = true,
      runs = 1,
      message = expect.stringMatching(/^[A-Z].*\.( It said: .*)?$|E003/),
    } = ending;
    const maker = await newFilmMaker(stack);
    const prompt = promptWith(fault);
    const made = await maker.start("first-frame", { prompt });
    const ended = await maker.untilEnded(made);
    expect(ended).toMatchObject({ status: "failed", attempt: 1, output: null, error: { code, retryable, message } });
    await expectSoundEnd(sql, made);
    expect(await providerRuns(prompt, stack)).toHaveLength(runs);
    // Whatever the provider still had to say has been said: the end did not move.
    if (runs > 0) {
      const before = await wholeRow(sql, made.predictionId);
      await until("the last callback has come", async () => {
        const seen = await callbacksFor(stack, made.predictionId);
        return seen.some((one) => !/^(starting|processing) /.test(one));
      });
      expect(await wholeRow(sql, made.predictionId)).toBe(before);
    }
  });

  test("input_unreachable twice, as while our Storage is away → submitted again each time, and the status never goes back", async () => {
    const maker = await newFilmMaker(stack);
    const image = await maker.call(uploadedReferenceImage, "POST", "/api/projects/reference-images", await drawImage());
    const prompt = promptWith("input_unreachable=2");
    const made = await maker.start("first-frame", { prompt, ...image });
    const seen: string[] = [];
    const ended = await until(
      "the frame ends",
      async () => {
        const now = await maker.read(made);
        if (seen.at(-1) !== now.status) seen.push(now.status);
        return now.completedAt !== null && now;
      },
      60_000,
    );
    expect(ended).toMatchObject({ status: "succeeded", attempt: 3 });
    const order = ["queued", "starting", "processing", "succeeded"];
    expect(seen).toEqual(order.filter((status) => seen.includes(status)));
    await expectSoundEnd(sql, ended);
    expect((await providerRuns(prompt, stack)).map(({ status }) => status).toSorted()).toEqual([
      "failed",
      "failed",
      "succeeded",
    ]);
  });

  test.each([["output_slow=1200"], ["output_flaky"]])("%s → succeeded once, the whole file kept", async (fault) => {
    const maker = await newFilmMaker(stack);
    const prompt = promptWith(fault);
    const ended = await maker.untilEnded(await maker.start("first-frame", { prompt }));
    expect(ended).toMatchObject({ status: "succeeded", attempt: 1, error: null });
    await expectSoundEnd(sql, ended);
    await download(ended);
    expect(await providerRuns(prompt, stack)).toHaveLength(1);
  });
});
