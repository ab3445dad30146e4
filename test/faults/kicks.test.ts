import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startReceiver } from "../../tools/receiver/start-receiver.ts";
import { cryptoBytes, randomWebhookSecret } from "../../local/simulator/random.ts";
import type { Prediction } from "../../shared/contract/predictions.ts";
import { download, expectSoundEnd, wholeRow } from "../support/film/ending.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { runsAtProvider } from "../support/film/provider.ts";
import { untilNobodyLooks } from "../support/stack/restarts.ts";
import { type SignedPost, signedPost } from "../support/receiver/signed-post.ts";
import { type OwnStack, startOwnStack } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

const registered = z.object({ data: z.object({ webhookId: z.string(), secret: z.string() }) });

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

/** Every way in which the signature of a kick can fail to hold. */
async function expectWrongKicksRefused(address: string, accessToken: string): Promise<void> {
  const wrong: (SignedPost & { secret?: string })[] = [
    { headers: { "webhook-id": null, "webhook-timestamp": null, "webhook-signature": null } },
    { headers: { "webhook-signature": null } },
    { headers: { "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=" } },
    { headers: { "webhook-id": "kick_another" } },
    { secret: randomWebhookSecret(cryptoBytes) },
    { secret: stack.replicateWebhookSecret },
    { at: new Date(Date.now() - 6 * 60_000) },
    { at: new Date(Date.now() + 6 * 60_000) },
    { sent: '{"predictionId":"mine"}' },
    { headers: { "webhook-signature": null, authorization: `Bearer ${stack.publishableKey}` } },
    { headers: { "webhook-signature": null, authorization: `Bearer ${stack.secretKey}`, apikey: stack.secretKey } },
    { headers: { "webhook-signature": null, authorization: `Bearer ${accessToken}` } },
  ];
  for (const { secret = stack.kickSecret, ...post } of wrong) {
    expect(await signedPost(address, secret, post)).toEqual({ status: 401, code: "unauthorized", data: null });
  }
}

async function expectOneSuccess(made: Prediction, prompt: string): Promise<void> {
  expect(made).toMatchObject({ status: "succeeded", attempt: 1 });
  await expectSoundEnd(stack.sql, made);
  expect(await runsAtProvider(stack, prompt)).toHaveLength(1);
  await download(made);
}

test("kicks whose signature does not hold → 401, nothing is claimed; one that holds → 202, the work is done", async () => {
  const { maker, prompt, made } = await startUnkicked();
  const before = await wholeRow(stack.sql, made.predictionId);
  await expectWrongKicksRefused(generate(), maker.accessToken);
  expect(await signedPost(generate(), stack.kickSecret, { method: "GET" })).toMatchObject({ status: 405 });
  const huge = { body: JSON.stringify({ padding: "x".repeat(64 * 1024) }) };
  expect(await signedPost(generate(), stack.kickSecret, huge)).toMatchObject({ status: 413 });
  // A worker records its heartbeat before anything else.
  await untilNobodyLooks(stack.sql);
  expect(await wholeRow(stack.sql, made.predictionId)).toBe(before);
  expect(await runsAtProvider(stack, prompt)).toEqual([]);

  expect(await signedPost(generate(), stack.kickSecret)).toMatchObject({ status: 202, data: { accepted: true } });
  await expectOneSuccess(await maker.untilEnded(made), prompt);
});

test("kicks of deliver whose signature does not hold → 401, nothing is sent; one that holds → 202, the event arrives", async () => {
  await stack.child("scheduler").stop();
  const maker = await newFilmMaker(stack);
  const receiver = startReceiver({ port: 0, secrets: [] });
  const answer = await fetch(`${stack.url}/functions/v1/api/webhooks`, {
    method: "POST",
    headers: { authorization: `Bearer ${maker.accessToken}`, "content-type": "application/json" },
    body: JSON.stringify({ url: receiver.url }),
  });
  const { webhookId, secret } = registered.parse(await answer.json()).data;
  receiver.setSecrets([secret]);
  await untilNobodyLooks(stack.sql);
  await stack.sql`
    insert into keyframe.projects (owner_id, title, text_prompt)
    select owner_id, 'Harbour', 'A harbour at dawn' from keyframe.webhook_endpoints where id = ${webhookId}`;
  const deliveries = () => stack.sql`select * from keyframe.webhook_deliveries where endpoint_id = ${webhookId}`;
  const before = [...(await deliveries())];
  expect(before).toMatchObject([{ status: "pending", attempts: 0 }]);

  const deliver = `${stack.url}/functions/v1/keyframe-deliver`;
  await expectWrongKicksRefused(deliver, maker.accessToken);
  await untilNobodyLooks(stack.sql);
  expect([...(await deliveries())]).toEqual(before);
  expect(receiver.events).toEqual([]);

  expect(await signedPost(deliver, stack.kickSecret)).toMatchObject({ status: 202, data: { accepted: true } });
  await until("the event is delivered", async () => (await deliveries()).some(({ status }) => status === "delivered"));
  expect(receiver.events.map(({ event }) => event.type)).toEqual(["project.created"]);
  await receiver.stop();
});

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
