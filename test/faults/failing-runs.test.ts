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

describe.concurrent("a run that fails at the provider, or whose output cannot be stored", {}, () => {
  type Ending = { fault: string; code: string; stage?: string; retryable?: boolean; runs?: number; message?: string };
  const rejected = { code: "content_rejected", retryable: false };
  const endings: Ending[] = [
    { fault: "failed=The sea was too rough.", code: "provider_failed", message: "The sea was too rough." },
    { fault: "interrupted=2", code: "provider_failed", runs: 2, message: expect.stringContaining("E9828") },
    { fault: "content_rejected", ...rejected },
    { fault: "content_rejected=input", ...rejected, stage: "input" },
    { fault: "content_rejected=output", ...rejected, stage: "output" },
    { fault: "content_refused", ...rejected, stage: "input", runs: 0 },
    { fault: "aborted", code: "provider_aborted" },
    { fault: "canceled", code: "provider_canceled" },
    { fault: "rejected", code: "provider_rejected_input", retryable: false, runs: 0 },
    { fault: "output_empty", code: "provider_no_output" },
    { fault: "output_in=image,mask", code: "output_not_usable", retryable: false },
    { fault: "output_expired", code: "output_expired" },
    { fault: "output_not_image", code: "output_not_usable" },
    { fault: "output_huge", code: "output_too_large", retryable: false },
    { fault: "output_huge=chunked", code: "output_too_large", retryable: false },
  ];
  test.each(endings)("a run with the fault $fault → failed with $code, nothing kept in Storage", async (ending) => {
    const {
      fault,
      code,
      retryable = true,
      runs = 1,
      stage,
      message = expect.stringMatching(/^[A-Z].*\.( The provider said: “.*”)?$/),
    } = ending;
    const maker = await newFilmMaker(stack);
    const prompt = promptWith(fault);
    const made = await maker.start("first-frame", { prompt });
    const ended = await maker.untilEnded(made);
    expect(ended).toMatchObject({ status: "failed", attempt: Math.max(1, runs), output: null });
    expect(ended.error).toEqual({ code, retryable, message, stage });
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

  test.each<[fault: string, attempt: number | "1 or 2" | "3 or 4", runs: number]>([
    ["rate_limited=2", 3, 1],
    ["server_error=2", "3 or 4", 1], // a search before the third submit that takes too long costs an attempt
    ["lost_answer", "1 or 2", 1], // a callback proves the run, or the search before the second submit finds it
    ["output_slow=1200", 1, 1],
    ["output_flaky", 1, 1],
    ["output_in=image", 1, 1],
    ["output_in=images*", 1, 1],
    ["output_in", 1, 1],
    ["interrupted", 2, 2],
    ["input_unreachable=2", 3, 3], // as while our Storage is away
  ])(
    "a run with the fault %s → succeeded at attempt %s, runs: %i, the whole file stored; the status never goes back",
    async (fault, attempt, runs) => {
      const maker = await newFilmMaker(stack);
      const upload = async () =>
        await maker.call(uploadedReferenceImage, "POST", "/api/projects/reference-images", await drawImage());
      const prompt = promptWith(fault);
      const image = fault.startsWith("input") ? await upload() : {};
      const made = await maker.start("first-frame", { prompt, ...image });
      const seen: string[] = [];
      const ended = await until("the frame ends", async () => {
        const now = await maker.read(made);
        if (seen.at(-1) !== now.status) seen.push(now.status);
        return now.completedAt !== null && now;
      });
      expect(ended).toMatchObject({ status: "succeeded", error: null });
      expect(`${attempt}`.split(" or ")).toContain(`${ended.attempt}`);
      const order = ["queued", "starting", "processing", "succeeded"];
      expect(seen).toEqual(order.filter((status) => seen.includes(status)));
      await expectSoundEnd(sql, ended);
      await download(ended);
      expect(await providerRuns(prompt, stack)).toHaveLength(runs);
    },
  );
});
