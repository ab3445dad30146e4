import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { readRow } from "../support/database/calls.ts";
import type { Row } from "../support/database/predictions.ts";
import { download, expectSoundEnd, wholeRow } from "../support/film/ending.ts";
import { type FilmMaker, newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { callbacksFor, loggedBy } from "../support/stack/logs.ts";
import { providerRuns } from "../support/api/provider.ts";
import { killAndAwaitRestart, letLeaseRunOut } from "../support/stack/restarts.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

// Its own stack, whose processes are killed or stopped, and whose simulator takes a minute for a run. Postgres is not killed here:
// deliver-killed.test.ts. What a cancel answers: test/api.
let stack: OwnStack;
let maker: FilmMaker;
beforeAll(async () => {
  stack = await startOwnStack();
  maker = await newFilmMaker(stack);
});
afterEach(() => {
  stack.child("simulator").kill("SIGCONT");
  return stack.setRunDelay(0);
});
afterAll(() => stack.stop());

async function start(...faults: string[]) {
  const prompt = promptWith(...faults);
  return { prompt, made: await maker.start("first-frame", { prompt }) };
}

/** Waits until the prediction's row and its work are as wanted, which names a moment of its life. */
const untilRow = (what: string, { predictionId }: Prediction, isSo: (row: Row) => boolean) =>
  until(what, async () => isSo(await readRow(stack.sql, predictionId)));

const MINUTE = 60_000;

const untilProviderSays = (prompt: string, status: string) =>
  until(`the provider's only run is ${status}`, async () => {
    const runs = await providerRuns(prompt, stack);
    return runs.length === 1 && runs[0]?.status === status;
  });

/** Checks that it succeeds with one run at the provider, and that its end is one. */
async function expectOneSuccess(made: Prediction, prompt: string): Promise<Prediction> {
  const ended = await maker.untilEnded(made, 20);
  expect(ended).toMatchObject({ status: "succeeded", error: null });
  const row = await wholeRow(stack.sql, made.predictionId);
  await expectSoundEnd(stack.sql, made);
  await download(ended);
  expect(await providerRuns(prompt, stack), prompt).toHaveLength(1);
  expect(await wholeRow(stack.sql, made.predictionId)).toBe(row);
  return ended;
}

test("generate is killed while a submit waits for its answer → submitted again, one run", async () => {
  const { made, prompt } = await start("timeout");
  await until("the provider has taken the request", async () => {
    const { answers } = await (await fetch(`${stack.simulatorUrl}/control/state`)).json();
    return answers.timeout > 0;
  });
  await killAndAwaitRestart(stack, "keyframe-generate");
  await letLeaseRunOut(stack.sql, made.predictionId);
  expect(await expectOneSuccess(made, prompt)).toMatchObject({ attempt: 2 });
});

test("generate is killed before an accepted run is recorded, and its callbacks are lost → the run is found and adopted", async () => {
  const HOLD = 4711;
  await stack.sql.unsafe(`
    create function keyframe_private.hold_run() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock(${HOLD}); return new; end';
    create trigger hold_run before update of provider_prediction_id on keyframe_private.provider_submits for each row when (new.provider_prediction_id is not null) execute function keyframe_private.hold_run()`);
  const holder = await stack.sql.reserve();
  await holder`select pg_advisory_lock(${HOLD})`;
  const { made, prompt } = await start("callback_lost");
  await until("the answer waits to be recorded", async () => {
    const waiting =
      await stack.sql`select from pg_locks where locktype = 'advisory' and objid = ${HOLD} and not granted`;
    return waiting.length > 0;
  });
  expect(await providerRuns(prompt, stack)).toHaveLength(1);
  await killAndAwaitRestart(stack, "keyframe-generate");
  // What the dead process had begun to record must not be recorded after all.
  await stack.sql`
    select pg_cancel_backend(pid) from pg_locks where locktype = 'advisory' and objid = ${HOLD} and not granted`;
  await holder`select pg_advisory_unlock(${HOLD})`;
  holder.release();
  await stack.sql.unsafe("drop function keyframe_private.hold_run() cascade");
  await letLeaseRunOut(stack.sql, made.predictionId);
  expect(await expectOneSuccess(made, prompt)).toMatchObject({ attempt: 2 });
});

test("generate is killed in the middle of a copy into Storage → copied again, no half file left", async () => {
  const { made, prompt } = await start("output_slow=1500");
  await until("some of the file has arrived", async () => (await halfFiles()) > 0);
  await killAndAwaitRestart(stack, "keyframe-generate");
  await letLeaseRunOut(stack.sql, made.predictionId);
  expect(await expectOneSuccess(made, prompt)).toMatchObject({ attempt: 1 });
  await until("the half file is gone", async () => (await halfFiles()) === 0);
});

test("the provider loses a run → failed as provider_lost, and can be run again", async () => {
  await stack.setRunDelay(MINUTE);
  const { made } = await start("callback_lost");
  await untilRow("the run is on its way", made, ({ status }) => status === "starting" || status === "processing");
  await killAndAwaitRestart(stack, "simulator");
  const ended = await maker.untilEnded(made);
  expect(ended).toMatchObject({ status: "failed", error: { code: "provider_lost", retryable: true } });
  await expectSoundEnd(stack.sql, made);
  expect(await callbacksFor(stack, made.predictionId)).toEqual([]);
  const again = await start();
  await expectOneSuccess(again.made, again.prompt);
});

test("a prediction is canceled during its submit → its run is canceled as soon as it is known", async () => {
  await stack.setRunDelay(MINUTE);
  stack.child("simulator").kill("SIGSTOP");
  const { made, prompt } = await start("callback_lost");
  await untilRow("it is being submitted", made, (row) => row.attempt === 1 && row.lease_token !== null);
  expect(await maker.cancel(made)).toMatchObject({ status: "canceled", startedAt: null });
  stack.child("simulator").kill("SIGCONT");
  await untilProviderSays(prompt, "canceled");
  await expectSoundEnd(stack.sql, made);
  expect(await maker.read(made)).toMatchObject({ status: "canceled" });
});

test("a prediction is canceled while its output is copied → the finished copy comes too late, and is removed", async () => {
  const { made } = await start("output_slow=1500");
  await untilRow("it is copied", made, (row) => row.status === "storing" && row.lease_token !== null);
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

/** How many files the folder of Storage holds that belong to no object. */
async function halfFiles(): Promise<number> {
  let halves = 0;
  for (const folder of await namesIn(join(stack.dataDir, "storage"))) {
    for (const object of await namesIn(join(stack.dataDir, "storage", folder))) {
      const names = await namesIn(join(stack.dataDir, "storage", folder, object));
      halves += names.filter((name) => !name.endsWith(".json")).length - (names.includes("entry.json") ? 1 : 0);
    }
  }
  return halves;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
