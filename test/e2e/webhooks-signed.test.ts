import { afterAll, describe, expect, inject, test } from "vitest";
import { webhookSecretAnswer } from "../../shared/contract/webhooks.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers, first } from "../support/receiver/habits.ts";
import { createProjects, register } from "../support/receiver/register.ts";
import { isSignedWith, readSigned, signatures } from "../support/receiver/signed.ts";
import {
  expectSoundDeliveries,
  hasFailed,
  isDelivered,
  letRetriesComeDue,
  untilStories,
} from "../support/receiver/story.ts";
import { connect } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
const receivers: FlowReceiver[] = [];
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
  await sql.end({ timeout: 1 });
});

/** A new user with one endpoint at a receiver of their own. */
async function listen(habit = answers(204), fields = {}) {
  const [receiver, maker] = await Promise.all([startFlowReceiver(habit), newFilmMaker(stack)]);
  receivers.push(receiver);
  const { webhookId, secret } = await register(maker, receiver.url, fields);
  const untilArrived = (count: number) =>
    until(`${count} requests have arrived`, async () => receiver.arrivals.length >= count && [...receiver.arrivals]);
  const rotate = async (overlapHours: number) =>
    (await maker.call(webhookSecretAnswer, "POST", `/api/webhooks/${webhookId}/secret/rotate`, { overlapHours }))
      .secret;
  const letOverlapEnd = () => sql`
    update keyframe_private.webhook_secrets set expires_at = now() where endpoint_id = ${webhookId} and expires_at is not null`;
  return { receiver, maker, webhookId, secret, untilArrived, rotate, letOverlapEnd };
}

describe.concurrent("signed events", () => {
  test("a film with one failure → project.created, three generation.succeeded and generation.failed, each once, signed, as documented", async () => {
    const { receiver, maker, webhookId, secret } = await listen();
    const [projectId = ""] = await createProjects(maker, 1);
    const frame = await maker.untilEnded(await maker.start("first-frame"));
    const last = await maker.untilEnded(await maker.start("last-frame"));
    const failed = await maker.untilEnded(await maker.start("last-frame", { prompt: promptWith("failed") }));
    const video = await maker.untilEnded(await maker.start("video"), 25);
    await untilStories(sql, webhookId, "five events are delivered", 5, isDelivered);
    const stories = await expectSoundDeliveries(sql, webhookId, receiver);
    expect(stories.map(({ told }) => told)).toEqual(Array(5).fill(["1 204"]));

    expect(new Set(receiver.arrivals.map(({ id }) => id)).size).toBe(5);
    const events = receiver.arrivals.map((arrival) => readSigned(secret, arrival));
    const about = (id: string) =>
      events.find(
        ({ data }) => ("predictionId" in data ? data.predictionId : "projectId" in data && data.projectId) === id,
      );
    const ownerId = maker.userId;
    expect(about(projectId)).toMatchObject({
      type: "project.created",
      data: { projectId, ownerId, title: "Harbour 1", textPrompt: "A harbour at dawn, Häfen 🎬", description: "" },
    });
    for (const { predictionId, step, model, createdAt, completedAt, output } of [frame, last, video]) {
      const { url: _url, expiresAt: _expiresAt, ...file } = output ?? {};
      expect(about(predictionId)).toEqual({
        type: "generation.succeeded",
        timestamp: completedAt,
        data: {
          ...{ predictionId, projectId: maker.projectId, ownerId, step, model, createdAt, completedAt },
          output: JSON.parse(JSON.stringify(file)),
        },
      });
    }
    expect(about(failed.predictionId)).toMatchObject({
      type: "generation.failed",
      error: failed.error,
      data: { predictionId: failed.predictionId, projectId: maker.projectId, ownerId, step: "last-frame" },
    });
  });

  test("three attempts → the same webhook-id and body on each, signed anew; then no more", async () => {
    const { receiver, maker, webhookId, secret, untilArrived } = await listen(first(2, answers(503), answers(200)));
    await createProjects(maker, 1);
    for (const attempts of [1, 2]) {
      await untilStories(
        sql,
        webhookId,
        `attempt ${attempts} has failed`,
        1,
        (story) => hasFailed(story) && story.attempts === attempts,
      );
      await letRetriesComeDue(sql, stack, webhookId);
    }
    await untilStories(sql, webhookId, "it is delivered", 1, isDelivered);
    const arrivals = await untilArrived(3);
    for (const arrival of arrivals) readSigned(secret, arrival);
    expect(new Set(arrivals.map(({ id }) => id)).size).toBe(1);
    expect(new Set(arrivals.map(({ body }) => body)).size).toBe(1);
    const [story] = await expectSoundDeliveries(sql, webhookId, receiver);
    expect(story?.told).toEqual(["1 503 http_status", "2 503 http_status", "3 200"]);
    expect(receiver.arrivals).toHaveLength(3);
  });

  test("rotation → before it the old secret verifies, during the overlap either, after it the new one alone", async () => {
    const { maker, secret: old, untilArrived, rotate, letOverlapEnd } = await listen();
    await createProjects(maker, 1);
    const [before] = await untilArrived(1);
    const fresh = await rotate(24);
    await createProjects(maker, 1);
    const [, during] = await untilArrived(2);
    await letOverlapEnd();
    await createProjects(maker, 1);
    const [, , after] = await untilArrived(3);
    if (!before || !during || !after) throw new Error("An event is missing.");
    const verifies = [before, during, after].map((arrival) => [
      isSignedWith(old, arrival),
      isSignedWith(fresh, arrival),
    ]);
    expect(verifies).toEqual([
      [true, false],
      [true, true],
      [false, true],
    ]);
    expect([before, during, after].map((arrival) => signatures(arrival).length)).toEqual([1, 2, 1]);
    for (const [secret, arrival] of [
      [old, before],
      [fresh, during],
      [fresh, after],
    ] as const)
      readSigned(secret, arrival);
  });

  test("rotation between two attempts → the second is signed with both secrets", async () => {
    const { maker, webhookId, secret: old, untilArrived, rotate } = await listen(first(1, answers(500), answers(200)));
    await createProjects(maker, 1);
    await untilStories(sql, webhookId, "the first attempt has failed", 1, hasFailed);
    const fresh = await rotate(1);
    await letRetriesComeDue(sql, stack, webhookId);
    const [one, two] = await untilArrived(2);
    if (!one || !two) throw new Error("An attempt is missing.");
    expect([isSignedWith(old, one), isSignedWith(fresh, one)]).toEqual([true, false]);
    expect([isSignedWith(old, two), isSignedWith(fresh, two)]).toEqual([true, true]);
    expect(two.id).toBe(one.id);
  });

  test("two rotations in a row → three signatures; then one without an overlap → every old secret is refused at once", async () => {
    const { maker, secret: oldest, untilArrived, rotate } = await listen();
    const older = await rotate(1);
    const old = await rotate(1);
    await createProjects(maker, 1);
    const [during] = await untilArrived(1);
    const fresh = await rotate(0);
    await createProjects(maker, 1);
    const [, after] = await untilArrived(2);
    if (!during || !after) throw new Error("An event is missing.");
    expect([during, after].map((arrival) => signatures(arrival).length)).toEqual([3, 1]);
    expect([oldest, older, old].map((secret) => isSignedWith(secret, during))).toEqual([true, true, true]);
    expect([oldest, older, old, fresh].map((secret) => isSignedWith(secret, after))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });
});
