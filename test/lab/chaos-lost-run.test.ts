import { afterAll, beforeAll, expect, test } from "vitest";
import { type FilmMaker, newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { runsAtProvider } from "../support/film/provider.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// A run that was paid for, and which no row names: its answer was lost, and so is every callback. Its own stack,
// for tries come a minute apart: long enough for the prediction to end first.
let stack: OwnStack;
beforeAll(async () => {
  stack = await startOwnStack();
  await stack.sql`update keyframe_private.settings set retry_base = '1 minute', retry_max = '2 minutes' where only_row`;
  await stack.setRunDelay(120_000);
});
afterAll(() => stack.stop());

/** Starts a frame and waits until its run is on at the provider, unknown here. */
async function startUnanswered(by: FilmMaker) {
  const prompt = promptWith("lost_answer", "callback_lost");
  const made = await by.start("first-frame", { prompt });
  await until("the submit had no answer", async () => {
    const [row] = await stack.sql`
      select from keyframe.predictions where id = ${made.predictionId} and retry_reason is not null and lease_token is null`;
    return row !== undefined;
  });
  expect(await runsAtProvider(stack, prompt)).toMatchObject([{ status: "processing" }]);
  return { made, prompt };
}

/** Waits until the run is over at the provider, and here in its row. */
async function expectRunEnded(predictionId: string, prompt: string): Promise<void> {
  await until("the run is cancelled", async () => {
    const runs = await runsAtProvider(stack, prompt);
    return runs.length === 1 && runs[0]?.status === "canceled";
  });
  await until("its row says so", async () => {
    const rows = await stack.sql<{ cancel_due_at: Date | null }[]>`
      select cancel_due_at from keyframe_private.provider_runs where prediction_id = ${predictionId}`;
    return rows.length === 1 && rows[0]?.cancel_due_at === null;
  });
}

test("its owner's account deleted before the search for the lost answer → its run is found and cancelled, and its prompt deleted", async () => {
  const account = await newFilmMaker(stack);
  const { made, prompt } = await startUnanswered(account);
  await stack.sql`delete from auth.users where id = ${account.userId}`;
  const searched = await stack.sql`
    update keyframe_private.unanswered_submits set next_search_at = now() where prediction_id = ${made.predictionId} returning search_task`;
  expect(searched).toMatchObject([{ search_task: { prompt } }]);
  await expectRunEnded(made.predictionId, prompt);
  await until("the prompt is deleted", async () => {
    const [row] = await stack.sql`
      select search_task from keyframe_private.unanswered_submits where prediction_id = ${made.predictionId}`;
    return row?.search_task === null;
  });
});

test("its owner's account deleted as its answer is on the way → the run is cancelled when the answer comes", async () => {
  const account = await newFilmMaker(stack);
  const prompt = promptWith("callback_lost");
  const simulator = stack.child("simulator");
  simulator.kill("SIGSTOP");
  const { predictionId } = await account.start("first-frame", { prompt });
  await until("the submit is under way", async () => {
    const rows = await stack.sql`
      select from keyframe.predictions where id = ${predictionId} and unanswered_since is not null and lease_token is not null`;
    return rows.length === 1;
  });
  await stack.sql`delete from auth.users where id = ${account.userId}`;
  simulator.kill("SIGCONT");
  await expectRunEnded(predictionId, prompt);
});
