import { afterAll, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { apiCaller } from "../support/film/call.ts";
import { delivery, recoveredDeliveries, webhook } from "../../shared/contract/webhooks.ts";
import { newFilmMaker, promptWith } from "../support/film/film-maker.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";
import { createProjects, register } from "../support/receiver/register.ts";
import { readSigned } from "../support/receiver/signed.ts";
import { expectSoundDeliveries, hasFailed, isDelivered, readStories, untilStories } from "../support/receiver/story.ts";
import { connect } from "../support/stack/own-stack.ts";
import { until } from "../support/until.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
/** The project itself, by its secret key. */
const administrator = { call: apiCaller(`${stack.url}/functions/v1`, stack.secretKey) };
const receivers: FlowReceiver[] = [];
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
  await sql.end({ timeout: 1 });
});

async function receive(habit = answers(204)): Promise<FlowReceiver> {
  const receiver = await startFlowReceiver(habit);
  receivers.push(receiver);
  return receiver;
}

/** The events that have arrived and are signed with this secret, by type and what they are about. */
const told = (secret: string, { arrivals }: FlowReceiver): string[] =>
  arrivals.map((arrival) => {
    const { type, data } = readSigned(secret, arrival);
    const about = "predictionId" in data ? data.predictionId : "projectId" in data ? data.projectId : data.endpointId;
    return `${type} ${about}`;
  });

describe.concurrent("who gets what", () => {
  test("two users → each gets their own events, never the other's; a service-wide endpoint gets both", async () => {
    const [forOne, forOther, forAll] = await Promise.all([receive(), receive(), receive()]);
    const [one, other] = await Promise.all([newFilmMaker(stack), newFilmMaker(stack)]);
    const ofOne = await register(one, forOne.url);
    const ofOther = await register(other, forOther.url);
    const ofAll = await register(administrator, forAll.url, { eventTypes: ["project.created"] });
    expect(ofAll.serviceWide).toBe(true);
    try {
      const mine = (await createProjects(one, 2)).map((id) => `project.created ${id}`);
      const theirs = (await createProjects(other, 2)).map((id) => `project.created ${id}`);
      await untilStories(sql, ofOne.webhookId, "the first user's are delivered", 2, isDelivered);
      await untilStories(sql, ofOther.webhookId, "the other's are delivered", 2, isDelivered);
      await until("the service-wide endpoint has both", async () =>
        [...mine, ...theirs].every((event) => told(ofAll.secret, forAll).includes(event)),
      );
      expect(told(ofOne.secret, forOne).sort()).toEqual(mine.sort());
      expect(told(ofOther.secret, forOther).sort()).toEqual(theirs.sort());
    } finally {
      await administrator.call(z.unknown(), "DELETE", `/api/webhooks/${ofAll.webhookId}`);
    }
  });

  test("two endpoints, one that asks for generation.failed alone → it gets that alone, the other gets all", async () => {
    const [forAll, forFailed] = await Promise.all([receive(), receive()]);
    const maker = await newFilmMaker(stack);
    const all = await register(maker, forAll.url);
    const failures = await register(maker, forFailed.url, { eventTypes: ["generation.failed"] });
    const [projectId] = await createProjects(maker, 1);
    const good = await maker.untilEnded(await maker.start("first-frame"));
    const bad = await maker.untilEnded(await maker.start("first-frame", { prompt: promptWith("failed") }));
    await untilStories(sql, all.webhookId, "all are delivered", 3, isDelivered);
    await untilStories(sql, failures.webhookId, "the failure is delivered", 1, isDelivered);
    const failed = `generation.failed ${bad.predictionId}`;
    expect(told(failures.secret, forFailed)).toEqual([failed]);
    expect(told(all.secret, forAll).sort()).toEqual(
      [`project.created ${projectId}`, `generation.succeeded ${good.predictionId}`, failed].sort(),
    );
    expect(forAll.arrivals.find(({ body }) => body.includes(bad.predictionId))?.id).toBe(forFailed.arrivals[0]?.id);
  });

  test("a cancelled generation → no event", async () => {
    const receiver = await receive();
    const maker = await newFilmMaker(stack);
    const { webhookId } = await register(maker, receiver.url);
    const canceled = await maker.cancel(await maker.start("first-frame", { prompt: promptWith("rate_limited=30") }));
    expect(canceled.status).toBe("canceled");
    await createProjects(maker, 1);
    const stories = await untilStories(sql, webhookId, "the project is delivered", 1, isDelivered);
    expect(stories.map(({ event_type }) => event_type)).toEqual(["project.created"]);
  });

  test("a test event → goes to that endpoint alone, although it asked for other types", async () => {
    const [receiver, another] = await Promise.all([receive(), receive()]);
    const maker = await newFilmMaker(stack);
    const { webhookId, secret } = await register(maker, receiver.url, { eventTypes: ["generation.failed"] });
    const beside = await register(maker, another.url);
    const sent = await maker.call(delivery, "POST", `/api/webhooks/${webhookId}/test`);
    await untilStories(sql, webhookId, "the test is delivered", 1, isDelivered);
    expect(told(secret, receiver)).toEqual([`webhook.test ${webhookId}`]);
    expect(receiver.arrivals[0]?.id).toBe(sent.eventId);
    expect(await readStories(sql, beside.webhookId)).toEqual([]);
  });

  test("redeliver → the same event once more, with its webhook-id and the next attempt's number", async () => {
    const receiver = await receive();
    const maker = await newFilmMaker(stack);
    const { webhookId } = await register(maker, receiver.url);
    await createProjects(maker, 1);
    const [done] = await untilStories(sql, webhookId, "it is delivered", 1, isDelivered);
    const again = await maker.call(delivery, "POST", `/api/webhooks/deliveries/${done?.id}/redeliver`);
    expect(again).toMatchObject({ status: "pending", eventId: done?.event_id });
    await until("it has arrived again", async () => receiver.arrivals.length === 2);
    await untilStories(sql, webhookId, "it is delivered again", 1, isDelivered);
    const [story] = await expectSoundDeliveries(sql, webhookId, receiver);
    expect(story?.told).toEqual(["1 204", "2 204"]);
    expect(new Set(receiver.arrivals.map(({ id }) => id)).size).toBe(1);
  });

  test("recover after a receiver was down → what failed arrives, what had arrived does not come again", async () => {
    const receiver = await receive();
    const maker = await newFilmMaker(stack);
    const { webhookId, createdAt } = await register(maker, receiver.url);
    await createProjects(maker, 1);
    await untilStories(sql, webhookId, "the first is delivered", 1, isDelivered);
    receiver.behave(answers(500));
    await createProjects(maker, 3);
    await untilStories(sql, webhookId, "three have failed", 4, (story) => isDelivered(story) || hasFailed(story));
    receiver.behave(answers(200));
    const { recovered } = await maker.call(recoveredDeliveries, "POST", `/api/webhooks/${webhookId}/recover`, {
      since: createdAt,
    });
    expect(recovered).toBe(3);
    await untilStories(sql, webhookId, "all are delivered", 4, isDelivered);
    const stories = await expectSoundDeliveries(sql, webhookId, receiver);
    expect(stories.map(({ told }) => told)).toEqual([["1 204"], ...Array(3).fill(["1 500 http_status", "2 200"])]);
  });

  test("a disabled endpoint → gets nothing; enabled and recovered, it gets what it missed", async () => {
    const receiver = await receive();
    const maker = await newFilmMaker(stack);
    const { webhookId, secret, createdAt } = await register(maker, receiver.url);
    const off = await maker.call(webhook, "PATCH", `/api/webhooks/${webhookId}`, { enabled: false });
    expect(off).toMatchObject({ enabled: false, disabledReason: "by_owner" });
    const missed = (await createProjects(maker, 2)).map((id) => `project.created ${id}`);
    expect(await readStories(sql, webhookId)).toEqual([]);
    const on = await maker.call(webhook, "PATCH", `/api/webhooks/${webhookId}`, { enabled: true });
    expect(on).toMatchObject({ enabled: true, disabledReason: null });
    const next = (await createProjects(maker, 1)).map((id) => `project.created ${id}`);
    await untilStories(sql, webhookId, "the newest is delivered", 1, isDelivered);
    expect(told(secret, receiver)).toEqual(next);
    const { recovered } = await maker.call(recoveredDeliveries, "POST", `/api/webhooks/${webhookId}/recover`, {
      since: createdAt,
    });
    expect(recovered).toBe(2);
    await untilStories(sql, webhookId, "all are delivered", 3, isDelivered);
    expect(told(secret, receiver).sort()).toEqual([...missed, ...next].sort());
    await expectSoundDeliveries(sql, webhookId, receiver);
  });

  test("a deleted endpoint → nothing more arrives, and what waited for it goes with the next pruning", async () => {
    const [receiver, witness] = await Promise.all([receive(answers(500)), receive()]);
    const maker = await newFilmMaker(stack);
    const { webhookId } = await register(maker, receiver.url);
    const other = await register(maker, witness.url);
    await createProjects(maker, 1);
    await untilStories(sql, webhookId, "it has failed", 1, hasFailed);
    await maker.call(webhook, "DELETE", `/api/webhooks/${webhookId}`);
    await createProjects(maker, 1);
    await untilStories(sql, other.webhookId, "the other endpoint has both", 2, isDelivered);
    await sql`select keyframe_private.prune_webhooks()`; // what the job does within the minute
    expect(await readStories(sql, webhookId)).toEqual([]);
    expect(receiver.arrivals).toHaveLength(1);
  });
});
