import { afterAll, beforeAll, expect, test } from "vitest";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { download, expectSoundEnd } from "../support/film/ending.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { providerRuns } from "../support/api/provider.ts";
import { untilNobodyLooks } from "../support/stack/restarts.ts";
import { signedPost } from "../support/receiver/signed-post.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";

// Its own stack, for here the scheduler, which sends kicks and runs the sweep, is off for most of the time.
let stack: OwnStack;
beforeAll(async () => {
  stack = await startOwnStack();
});
afterAll(() => stack.stop());

const generate = () => `${stack.url}/functions/v1/keyframe-generate`;

/** A prediction that is due and that nobody takes, with its kick waiting in the queue. */
async function startUnkicked() {
  await stack.child("scheduler").stop();
  const maker = await newFilmMaker(stack);
  await untilNobodyLooks(stack.sql);
  const prompt = promptWith();
  return { maker, prompt, made: await maker.start("first-frame", { prompt }) };
}

async function expectOneSuccess(made: Prediction, prompt: string): Promise<void> {
  expect(made).toMatchObject({ status: "succeeded", attempt: 1 });
  await expectSoundEnd(stack.sql, made);
  expect(await providerRuns(prompt, stack)).toHaveLength(1);
  await download(made);
}

test("ten kicks at once → the work is done once", async () => {
  const { maker, prompt, made } = await startUnkicked();
  const answers = await Promise.all(Array.from({ length: 10 }, () => signedPost(generate(), stack.kickSecret)));
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(202));
  await expectOneSuccess(await maker.untilEnded(made), prompt);
});

test("a kick that is lost from the queue → the sweep makes up for it", async () => {
  const { maker, prompt, made } = await startUnkicked();
  const lost = await stack.sql`delete from net.http_request_queue where url like '%/keyframe-generate' returning id`;
  expect(lost.length).toBeGreaterThan(0);
  await stack.child("scheduler").start();
  await expectOneSuccess(await maker.untilEnded(made), prompt);
});

test("the scheduler away when the kick is made → the waiting kick is sent when it is back", async () => {
  const { maker, prompt, made } = await startUnkicked();
  await stack.sql`update cron.job set active = false where jobname = 'keyframe-sweep'`;
  await stack.child("scheduler").start();
  await expectOneSuccess(await maker.untilEnded(made), prompt);
  await stack.sql`update cron.job set active = true where jobname = 'keyframe-sweep'`;
});

test("a kick that cannot be made → the user's request succeeds all the same", async () => {
  const { maker, prompt } = await startUnkicked();
  await stack.sql`select vault.update_secret(id, 'no address') from vault.secrets where name = 'keyframe_functions_url'`;
  const made = await maker.start("first-frame", { prompt });
  expect(made.status).toBe("queued");
  await signedPost(generate(), stack.kickSecret);
  expect(await maker.untilEnded(made)).toMatchObject({ status: "succeeded" });
});
