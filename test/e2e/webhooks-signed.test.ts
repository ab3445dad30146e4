import { afterAll, describe, expect, inject, test } from "vitest";
import { delivery } from "../../shared/contract/webhooks.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";
import { createProjects, register } from "../support/receiver/register.ts";
import { readSigned } from "../support/receiver/signed.ts";
import { expectSoundDeliveries, isDelivered, readStories, untilStories } from "../support/receiver/story.ts";
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
  return { receiver, maker, webhookId, secret };
}

describe.concurrent("signed events", () => {
  test("a film with one failure → each event once, signed, as documented; an endpoint for failures gets only that one", async () => {
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

  test("a test event, and its delivery sent again → to that endpoint only, with the same webhook-id", async () => {
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
