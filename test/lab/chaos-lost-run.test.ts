import { afterAll, beforeAll, expect, test } from "vitest";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { project } from "../../shared/contract/projects.ts";
import { type FilmMaker, newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { runsAtProvider } from "../support/film/provider.ts";
import { letLeaseRunOut } from "../support/stack/restarts.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// A run that was paid for, and which no row names: its answer was lost, and so is every callback. Its own stack,
// for tries come a minute apart: long enough for the prediction to end first.
let stack: OwnStack;
let maker: FilmMaker;
beforeAll(async () => {
  stack = await startOwnStack();
  await stack.sql`update keyframe_private.settings set retry_base = '1 minute', retry_max = '2 minutes' where only_row`;
  await stack.setRunDelay(120_000);
  maker = await newFilmMaker(stack);
});
afterAll(() => stack.stop());

/** Starts a frame and waits until its run is on at the provider, unknown here. */
async function startUnanswered(by = maker) {
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

test("cancelled before the search for the lost answer → its run is found and cancelled", async () => {
  const { made, prompt } = await startUnanswered();
  expect(await maker.cancel(made)).toMatchObject({ status: "canceled" });
  await stack.sql`update keyframe.predictions set next_attempt_at = now() where id = ${made.predictionId}`;
  await expectRunEnded(made.predictionId, prompt);
});

test("past its deadline before the search for the lost answer → its run is found and cancelled", async () => {
  const { made, prompt } = await startUnanswered();
  await stack.sql`
    update keyframe.predictions set deadline_at = now(), next_attempt_at = now() + interval '1 second' where id = ${made.predictionId}`;
  expect(await maker.untilEnded(made)).toMatchObject({ status: "failed", error: { code: "deadline_exceeded" } });
  await letLeaseRunOut(stack.sql, made.predictionId);
  await expectRunEnded(made.predictionId, prompt);
});

type Doomed = { account: FilmMaker; made: Prediction };
test.for<[string, (doomed: Doomed) => Promise<unknown>]>([
  [
    "cancelled, and its project deleted by its user",
    async ({ account, made }) => {
      await account.cancel(made);
      await account.call(project, "DELETE", `/api/projects/${account.projectId}`);
    },
  ],
  [
    "its project deleted in Studio",
    async ({ account }) => await stack.sql`delete from keyframe.projects where id = ${account.projectId}`,
  ],
  [
    "its owner's account deleted",
    async ({ account }) => await stack.sql`delete from auth.users where id = ${account.userId}`,
  ],
])("%s before the search for the lost answer → its run is found and cancelled", async ([, remove]) => {
  const account = await newFilmMaker(stack);
  const { made, prompt } = await startUnanswered(account);
  await remove({ account, made });
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
