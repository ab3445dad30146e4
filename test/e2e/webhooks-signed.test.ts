import { afterAll, describe, expect, inject, test } from "vitest";
import { delivery, webhookSecretAnswer } from "../../shared/contract/webhooks.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";
import { createProjects, register } from "../support/receiver/register.ts";
import { isSignedWith, readSigned, signatures } from "../support/receiver/signed.ts";
import {
  expectSoundDeliveries,
  hasFailed,
  isDelivered,
  letRetriesComeDue,
  readStories,
  untilStories,
} from "../support/receiver/story.ts";
import { connect } from "../support/stack/own-stack.ts";

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
  const rotate = async (overlapHours: number) =>
    (await maker.call(webhookSecretAnswer, "POST", `/api/webhooks/${webhookId}/secret/rotate`, { overlapHours }))
      .secret;
  return { receiver, maker, webhookId, secret, rotate };
}

describe.concurrent("signed events", () => {
  test("a film with one failure → project.created, three generation.succeeded and generation.failed, each once, signed, as documented; an endpoint for failures gets that alone", async () => {
    const { receiver, maker, webhookId, secret } = await listen();
    const forFailures = await startFlowReceiver(answers(204));
    receivers.push(forFailures);
    const failures = await register(maker, forFailures.url, { eventTypes: ["generation.failed"] });
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
    for (const { predictionId, step, model, createdAt, completedAt, output, cost } of [frame, last, video]) {
      const { url: _url, expiresAt: _expiresAt, ...file } = output ?? {};
      expect(about(predictionId)).toEqual({
        type: "generation.succeeded",
        timestamp: completedAt,
        data: {
          ...{ predictionId, projectId: maker.projectId, ownerId, step, model, createdAt, completedAt, cost },
          output: JSON.parse(JSON.stringify(file)),
        },
      });
    }
    expect(about(failed.predictionId)).toMatchObject({
      type: "generation.failed",
      error: failed.error,
      data: { predictionId: failed.predictionId, projectId: maker.projectId, ownerId, step: "last-frame" },
    });

    await untilStories(sql, failures.webhookId, "the failure is delivered", 1, isDelivered);
    const [first, ...others] = forFailures.arrivals;
    if (!first) throw new Error("The failure has not arrived.");
    expect([readSigned(failures.secret, first), others]).toEqual([about(failed.predictionId), []]);
    expect(receiver.arrivals.map(({ id }) => id)).toContain(first.id);
  });

  test("four attempts, the secret rotated between them → the same webhook-id and body, signed with every secret that lives at the time", async () => {
    const { receiver, maker, webhookId, secret: oldest, rotate } = await listen(answers(503));
    await createProjects(maker, 1);
    const untilFailed = (attempt: number) =>
      untilStories(sql, webhookId, `attempt ${attempt} has failed`, 1, (story) => {
        return story.attempts === attempt && hasFailed(story);
      });
    await untilFailed(1);
    const old = await rotate(24);
    await letRetriesComeDue(sql, stack, webhookId);
    await untilFailed(2);
    const fresh = await rotate(1);
    await letRetriesComeDue(sql, stack, webhookId);
    await untilFailed(3);
    const only = await rotate(0);
    receiver.behave(answers(200));
    await letRetriesComeDue(sql, stack, webhookId);
    await untilStories(sql, webhookId, "it is delivered", 1, isDelivered);
    const { arrivals } = receiver;
    expect(arrivals.map((arrival) => signatures(arrival).length)).toEqual([1, 2, 3, 1]);
    const verifies = arrivals.map((arrival) =>
      [oldest, old, fresh, only].map((secret) => (isSignedWith(secret, arrival) ? 1 : 0)).join(""),
    );
    expect(verifies).toEqual(["1000", "1100", "1110", "0001"]);
    for (const [index, secret] of [oldest, old, fresh, only].entries()) {
      const arrival = arrivals[index];
      if (arrival) readSigned(secret, arrival);
    }
    const [story] = await expectSoundDeliveries(sql, webhookId, receiver);
    expect(story?.told).toEqual([...[1, 2, 3].map((attempt) => `${attempt} 503 http_status`), "4 200"]);
    expect(new Set(arrivals.map(({ id, body }) => id + body)).size).toBe(1);
  });

  test("a test, and its delivery sent again → to that endpoint alone, with the same webhook-id", async () => {
    const { receiver, maker, webhookId } = await listen();
    const beside = await register(maker, `${receiver.url}/beside`);
    const sent = await maker.call(delivery, "POST", `/api/webhooks/${webhookId}/test`);
    await untilStories(sql, webhookId, "the test is delivered", 1, isDelivered);
    await maker.call(delivery, "POST", `/api/webhooks/deliveries/${sent.deliveryId}/redeliver`);
    await untilStories(sql, webhookId, "it is delivered again", 1, ({ told }) => told.join() === "1 204,2 204");
    expect(receiver.arrivals.map(({ id }) => id)).toEqual(Array(2).fill(sent.eventId));
    expect(await readStories(sql, beside.webhookId)).toEqual([]);
  });
});
