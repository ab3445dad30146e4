import { afterAll, describe, expect, inject, test } from "vitest";
import { newFilmMaker } from "../support/film/film-maker.ts";
import { type FlowReceiver, type Habit, startFlowReceiver } from "../support/receiver/receiver.ts";
import { answers, closes, hangs, inTurn } from "../support/receiver/habits.ts";
import { createProjects, register } from "../support/receiver/register.ts";
import {
  expectSoundDeliveries,
  hasFailed,
  isDelivered,
  letRetriesComeDue,
  readStories,
  type Story,
  untilStories,
} from "../support/receiver/story.ts";
import { connect } from "../support/stack/own-stack.ts";

// What a receiver may do to a request is in test/unit/deliver/receivers.test.ts; here is what comes of it.

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
const open: FlowReceiver[] = [];
afterAll(async () => {
  for (const receiver of open) await receiver.close();
  await sql.end({ timeout: 1 });
});

const BEFORE_THE_TIMEOUT = 10;

async function receive(habit: Habit): Promise<FlowReceiver> {
  const receiver = await startFlowReceiver(habit);
  open.push(receiver);
  return receiver;
}

/** A user with an endpoint at a receiver that behaves so. */
async function listen(habit: Habit) {
  const [maker, receiver] = await Promise.all([newFilmMaker(stack), receive(habit)]);
  return { maker, receiver, ...(await register(maker, receiver.url)) };
}

const attemptsOf = ({ id }: Story) => sql<{ duration_ms: number; response_excerpt: string | null }[]>`
  select duration_ms, response_excerpt from keyframe.webhook_attempts where delivery_id = ${id} order by attempt`;

describe.concurrent("receivers that fail", () => {
  test("a receiver hangs with twelve events → eight at once, each up to 15 s; the owner's other goes on; later all arrive", async () => {
    const { maker, receiver, webhookId } = await listen(hangs);
    const well = await receive(answers(204));
    const other = await register(maker, well.url);
    await createProjects(maker, 12);
    await untilStories(sql, other.webhookId, "the well receiver has all", 12, isDelivered, BEFORE_THE_TIMEOUT);
    const beside = await readStories(sql, other.webhookId);
    expect(beside.map(({ told }) => told)).toEqual(Array(12).fill(["1 204"]));
    expect([receiver.arrivals.length, well.arrivals.length]).toEqual([8, 12]);
    expect((await readStories(sql, webhookId)).every(({ attempts }) => attempts === 0)).toBe(true);

    receiver.behave(answers(200));
    const rest = (story: Story) => hasFailed(story) || isDelivered(story);
    const stories = await untilStories(sql, webhookId, "each has been attempted", 12, rest);
    const hung = stories.filter(({ told }) => told[0] === "1 - timeout");
    expect(hung).toHaveLength(8);
    for (const story of hung) {
      const [attempt] = await attemptsOf(story);
      expect(attempt?.response_excerpt).toBeNull();
      expect(attempt?.duration_ms).toBeGreaterThanOrEqual(15_000);
    }
    await letRetriesComeDue(sql, stack, webhookId);
    await untilStories(sql, webhookId, "all is delivered", 12, isDelivered);
    const told = (await expectSoundDeliveries(sql, webhookId, receiver)).map((story) => story.told.join(", "));
    expect(told.toSorted()).toEqual([...Array(8).fill("1 - timeout, 2 200"), ...Array(4).fill("1 200")]);
    expect(new Set(receiver.arrivals.map(({ id }) => id)).size).toBe(12);
  });

  test("a receiver closes, answers 500 or 429, or refuses connections → one request for each attempt, then the event arrives", async () => {
    const { maker, receiver, webhookId } = await listen(
      inTurn(closes, answers(500, {}, "out of order"), answers(429, { "retry-after": "20000" }), answers(200)),
    );
    await createProjects(maker, 1);
    const untilFailed = async (attempt: number) => {
      const isSo = (story: Story) => story.attempts === attempt && hasFailed(story);
      const [story] = await untilStories(sql, webhookId, `attempt ${attempt} has failed`, 1, isSo);
      return ((story?.next_attempt_at.getTime() ?? 0) - Date.now()) / 1000;
    };
    expect(await untilFailed(1)).toBeLessThan(6);
    await letRetriesComeDue(sql, stack, webhookId);
    await untilFailed(2);
    await receiver.close();
    await letRetriesComeDue(sql, stack, webhookId);
    await untilFailed(3);
    await receiver.open();
    await letRetriesComeDue(sql, stack, webhookId);
    expect(await untilFailed(4)).toBeGreaterThan(19_000); // the schedule says two hours
    await letRetriesComeDue(sql, stack, webhookId);
    const [story] = await untilStories(sql, webhookId, "it is delivered", 1, isDelivered);
    if (!story) throw new Error("There is no delivery.");
    const told = ["1 - connection", "2 500 http_status", "3 - connection", "4 429 http_status", "5 200"];
    expect(story.told).toEqual(told);
    expect((await attemptsOf(story)).map((one) => one.response_excerpt)).toEqual([null, "out of order", null, "", ""]);
    await expectSoundDeliveries(sql, webhookId, receiver);
    expect(receiver.arrivals).toHaveLength(4);
  });
});
