import { afterAll, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { apiCaller } from "../support/film/call.ts";
import { delivery } from "../../shared/contract/webhooks.ts";
import { newFilmMaker } from "../support/film/film-maker.ts";
import { type FlowReceiver, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers } from "../support/receiver/habits.ts";
import { createProjects, register } from "../support/receiver/register.ts";
import { readSigned } from "../support/receiver/signed.ts";
import { expectSoundDeliveries, isDelivered, readStories, untilStories } from "../support/receiver/story.ts";
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

async function receive(): Promise<FlowReceiver> {
  const receiver = await startFlowReceiver(answers(204));
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

  test("a test, and a delivery sent again → go to that endpoint alone; sent again, an event keeps its webhook-id", async () => {
    const [receiver, another] = await Promise.all([receive(), receive()]);
    const maker = await newFilmMaker(stack);
    const { webhookId, secret } = await register(maker, receiver.url, { eventTypes: ["generation.failed"] });
    const beside = await register(maker, another.url);
    const sent = await maker.call(delivery, "POST", `/api/webhooks/${webhookId}/test`);
    await untilStories(sql, webhookId, "the test is delivered", 1, isDelivered);
    const again = await maker.call(delivery, "POST", `/api/webhooks/deliveries/${sent.deliveryId}/redeliver`);
    expect(again).toMatchObject({ status: "pending", eventId: sent.eventId });
    await until("it has arrived again", async () => receiver.arrivals.length === 2);
    await untilStories(sql, webhookId, "it is delivered again", 1, isDelivered);
    expect(told(secret, receiver)).toEqual(Array(2).fill(`webhook.test ${webhookId}`));
    expect(receiver.arrivals.map(({ id }) => id)).toEqual(Array(2).fill(sent.eventId));
    const [story] = await expectSoundDeliveries(sql, webhookId, receiver);
    expect(story?.told).toEqual(["1 204", "2 204"]);
    expect(await readStories(sql, beside.webhookId)).toEqual([]);
  });
});
