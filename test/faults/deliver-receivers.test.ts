import { afterAll, describe, expect, inject, test } from "vitest";
import { recoveredDeliveries, webhook } from "../../shared/contract/webhooks.ts";
import { newFilmMaker } from "../support/film/film-maker.ts";
import { type FlowReceiver, type Habit, startFlowReceiver } from "../support/receiver/receiver.ts";
import {
  answers,
  answersAfter,
  closes,
  closesMidAnswer,
  drips,
  first,
  hangs,
  sends,
} from "../support/receiver/habits.ts";
import { startRawServer } from "../support/receiver/raw.ts";
import { createProjects, register } from "../support/receiver/register.ts";
import { readSigned } from "../support/receiver/signed.ts";
import {
  expectSoundDeliveries,
  hasFailed,
  isDelivered,
  kickDeliver,
  letRetriesComeDue,
  readStories,
  type Story,
  untilStories,
} from "../support/receiver/story.ts";
import { connect } from "../support/stack/own-stack.ts";

const stack = inject("stack");
const sql = connect(stack.databaseUrl);
const open: Pick<FlowReceiver, "close">[] = [];
afterAll(async () => {
  for (const receiver of open) await receiver.close();
  await sql.end({ timeout: 1 });
});

const BEFORE_THE_TIMEOUT = 10;
const AFTER_THE_TIMEOUT = 22;

async function receive(habit: Habit): Promise<FlowReceiver> {
  const receiver = await startFlowReceiver(habit);
  open.push(receiver);
  return receiver;
}

/** A user with an endpoint at `url`, and with another one whose receiver is well and must never wait for the first. */
async function beside(url: string, fields: Record<string, unknown> = {}) {
  const [maker, well] = await Promise.all([newFilmMaker(stack), receive(answers(204))]);
  const ill = await register(maker, url, fields);
  const other = await register(maker, well.url);
  return {
    maker,
    ...ill,
    /** Makes so many events, and waits until the well receiver has them all, each by one attempt. */
    async happen(count: number) {
      await createProjects(maker, count);
      await untilStories(sql, other.webhookId, "the well receiver has all", count, isDelivered, BEFORE_THE_TIMEOUT);
      const stories = await expectSoundDeliveries(sql, other.webhookId, well);
      expect(stories.map(({ told }) => told)).toEqual(Array(count).fill(["1 204"]));
      expect(well.arrivals).toHaveLength(count);
    },
    untilFailed: (count: number, seconds?: number) =>
      untilStories(sql, ill.webhookId, "every attempt has failed", count, hasFailed, seconds),
    letRetriesComeDue: () => letRetriesComeDue(sql, stack, ill.webhookId),
    untilDelivered: (count: number, seconds?: number) =>
      untilStories(sql, ill.webhookId, "all is delivered", count, isDelivered, seconds),
  };
}

const readAttempt = async ({ id }: Story, attempt = 1) => {
  const [row] = await sql<{ duration_ms: number; started_at: Date; response_excerpt: string | null }[]>`
    select * from keyframe.webhook_attempts where delivery_id = ${id} and attempt = ${attempt}`;
  if (!row) throw new Error(`The delivery ${id} has no attempt ${attempt}.`);
  return row;
};

const only = (stories: Story[]): Story => {
  const [story] = stories;
  if (!story || stories.length !== 1) throw new Error(`Expected one delivery, found ${stories.length}.`);
  return story;
};

describe.concurrent("a slow receiver that", () => {
  test("hangs with twelve events → eight at a time, each given up after 15 s; when it is well again, all arrive", async () => {
    const receiver = await receive(hangs);
    const to = await beside(receiver.url);
    await to.happen(12);
    expect(receiver.arrivals).toHaveLength(8);
    expect((await readStories(sql, to.webhookId)).every(({ attempts }) => attempts === 0)).toBe(true);
    receiver.behave(answers(200));
    const rest = (story: Story) => hasFailed(story) || isDelivered(story);
    const stories = await untilStories(sql, to.webhookId, "each has been attempted", 12, rest, AFTER_THE_TIMEOUT);
    const hung = stories.filter((story) => !isDelivered(story));
    expect(hung.map(({ told }) => told)).toEqual(Array(8).fill(["1 - timeout"]));
    for (const story of hung) {
      const { duration_ms, response_excerpt } = await readAttempt(story);
      expect(duration_ms).toBeGreaterThanOrEqual(15_000);
      expect(duration_ms).toBeLessThan(17_000);
      expect(response_excerpt).toBeNull();
    }
    await to.letRetriesComeDue();
    await to.untilDelivered(12);
    const told = (await expectSoundDeliveries(sql, to.webhookId, receiver)).map((story) => story.told.join(", "));
    expect(told.toSorted()).toEqual([...Array(8).fill("1 - timeout, 2 200"), ...Array(4).fill("1 200")]);
    expect(new Set(receiver.arrivals.map(({ id }) => id)).size).toBe(12);
  });

  test("answers after the timeout → timeout, and the event comes again with its webhook-id", async () => {
    const receiver = await receive(first(1, answersAfter(15_500), answers(200)));
    const to = await beside(receiver.url);
    await to.happen(1);
    expect(only(await to.untilFailed(1, AFTER_THE_TIMEOUT)).told).toEqual(["1 - timeout"]);
    await to.letRetriesComeDue();
    expect(only(await to.untilDelivered(1)).told).toEqual(["1 - timeout", "2 200"]);
    await expectSoundDeliveries(sql, to.webhookId, receiver);
    expect(receiver.arrivals.map((arrival) => readSigned(to.secret, arrival).type)).toEqual(
      Array(2).fill("project.created"),
    );
    expect(new Set(receiver.arrivals.map(({ id }) => id)).size).toBe(1);
  });

  test("drips its answer without an end → the status line counts, after 15 s at the latest", async () => {
    const [good, bad] = await Promise.all([receive(drips(200)), receive(first(1, drips(500), answers(200)))]);
    const [toGood, toBad] = await Promise.all([beside(good.url), beside(bad.url)]);
    await Promise.all([toGood.happen(1), toBad.happen(1)]);
    expect(only(await toGood.untilDelivered(1, AFTER_THE_TIMEOUT)).told).toEqual(["1 200"]);
    const failed = only(await toBad.untilFailed(1, AFTER_THE_TIMEOUT));
    expect(failed.told).toEqual(["1 500 http_status"]);
    expect((await readAttempt(failed)).response_excerpt).toMatch(/^a\.+$/);
    await toBad.letRetriesComeDue();
    expect(only(await toBad.untilDelivered(1)).told).toEqual(["1 500 http_status", "2 200"]);
    await expectSoundDeliveries(sql, toGood.webhookId, good);
    await expectSoundDeliveries(sql, toBad.webhookId, bad);
  });

  test("drips its head without an end → timeout", async () => {
    const raw = await startRawServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const timer = setInterval(() => socket.write("x-more: and more\r\n"), 500);
      socket.on("close", () => clearInterval(timer));
    });
    open.push(raw);
    const to = await beside(`http://127.0.0.1:${raw.port}/`);
    await to.happen(1);
    expect(only(await to.untilFailed(1, AFTER_THE_TIMEOUT)).told).toEqual(["1 - timeout"]);
    expect(raw.connections()).toBe(1);
  });
});

describe.concurrent("a receiver that", () => {
  test.each<[string, Habit, string, string | null]>([
    ["answers 500", answers(500, {}, "out of order"), "1 500 http_status", "out of order"],
    ["answers 404", answers(404), "1 404 http_status", ""],
    ["closes the connection without an answer", closes, "1 - connection", null],
    ["answers 500 and closes in the middle of it", closesMidAnswer(500), "1 500 http_status", "the first half"],
  ])("%s → the attempt says so, and the event arrives with the next one", async (_what, habit, told, excerpt) => {
    const receiver = await receive(first(1, habit, answers(200)));
    const to = await beside(receiver.url);
    await to.happen(1);
    const failed = only(await to.untilFailed(1));
    expect(failed).toMatchObject({ status: "pending", told: [told] });
    const { started_at, response_excerpt } = await readAttempt(failed);
    expect(response_excerpt).toBe(excerpt);
    const waits = failed.next_attempt_at.getTime() - started_at.getTime();
    expect(waits).toBeGreaterThanOrEqual(4_000); // 5 s, 20 % less or more, and what the attempt took
    expect(waits).toBeLessThan(12_000);
    // One request per attempt: nothing below deliver repeats one by itself.
    expect(receiver.arrivals).toHaveLength(1);
    await to.letRetriesComeDue();
    expect(only(await to.untilDelivered(1)).told).toEqual([told, "2 200"]);
    await expectSoundDeliveries(sql, to.webhookId, receiver);
    expect(receiver.arrivals).toHaveLength(2);
  });

  test("answers 200 and closes in the middle of it → delivered", async () => {
    const receiver = await receive(closesMidAnswer(200));
    const to = await beside(receiver.url);
    await to.happen(1);
    const story = only(await to.untilDelivered(1));
    expect(story.told).toEqual(["1 200"]);
    expect((await readAttempt(story)).response_excerpt).toBe("the first half");
    await expectSoundDeliveries(sql, to.webhookId, receiver);
  });

  test("sends 100 and 103, unrequested, before 200 → delivered by one request", async () => {
    const requests: string[] = [];
    const raw = await startRawServer((socket, request) => {
      requests.push(request);
      socket.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\ntaken");
    });
    open.push(raw);
    const to = await beside(`http://127.0.0.1:${raw.port}/`);
    await to.happen(1);
    const story = only(await to.untilDelivered(1));
    expect(story.told).toEqual(["1 200"]);
    expect((await readAttempt(story)).response_excerpt).toBe("taken");
    await to.letRetriesComeDue();
    expect(requests).toEqual([expect.stringContaining("POST / HTTP/1.1")]);
  });

  test("sends 10 MB → delivered at once, the first 1 KiB kept", async () => {
    const receiver = await receive(sends(10_000_000));
    const to = await beside(receiver.url);
    await to.happen(3);
    for (const story of await to.untilDelivered(3)) {
      expect(story.told).toEqual(["1 200"]);
      const { response_excerpt, duration_ms } = await readAttempt(story);
      expect(response_excerpt).toBe("x".repeat(1024));
      expect(duration_ms).toBeLessThan(5_000);
    }
    await expectSoundDeliveries(sql, to.webhookId, receiver);
  });

  test("redirects, whichever way → not followed, failed as redirect; nothing goes to the other address", async () => {
    const elsewhere = await receive(answers(200));
    const statuses = [301, 302, 303, 307, 308];
    const receiver = await receive((response, arrival, turn) =>
      answers(statuses[turn - 1] ?? 200, { location: elsewhere.url })(response, arrival, turn),
    );
    const to = await beside(receiver.url);
    await to.happen(5);
    const told = (await to.untilFailed(5)).map((story) => story.told.join());
    expect(told.toSorted()).toEqual(statuses.map((status) => `1 ${status} redirect`));
    await to.letRetriesComeDue();
    await to.untilDelivered(5);
    await expectSoundDeliveries(sql, to.webhookId, receiver);
    expect(elsewhere.arrivals).toEqual([]);
  });

  test("answers 410 → disabled as gone, nothing more is sent; enabled and recovered, it gets everything", async () => {
    const receiver = await receive(answers(500));
    const to = await beside(receiver.url);
    await to.happen(1);
    await to.untilFailed(1);
    receiver.behave(answers(410));
    await createProjects(to.maker, 1);
    await untilStories(sql, to.webhookId, "410 is recorded", 2, (story) => story.attempts === 1 && hasFailed(story));
    const path = `/api/webhooks/${to.webhookId}`;
    const gone = await to.maker.call(webhook, "GET", path);
    expect(gone).toMatchObject({ enabled: false, disabledReason: "gone", disabledAt: expect.any(String) });

    await createProjects(to.maker, 1);
    await to.letRetriesComeDue();
    const others = await beside(receiver.url);
    await others.happen(1); // deliver has looked since
    const told = (await readStories(sql, to.webhookId)).map((story) => story.told);
    expect(told).toEqual([["1 500 http_status"], ["1 410 http_status"]]);

    receiver.behave(answers(200));
    await to.maker.call(webhook, "PATCH", path, { enabled: true });
    await to.maker.call(recoveredDeliveries, "POST", `${path}/recover`, { since: to.createdAt });
    const all = await to.untilDelivered(3);
    expect(all.map((story) => story.told)).toEqual([
      ["1 500 http_status", "2 200"],
      ["1 410 http_status", "2 200"],
      ["1 200"],
    ]);
    expect(await to.maker.call(webhook, "GET", path)).toMatchObject({ enabled: true, disabledReason: null });
  });

  test("answers 429 or 503 with Retry-After → the next attempt waits so long; with 500 it does not", async () => {
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();
    const wishes: [number, string, number][] = [
      [429, "120", 120],
      [503, "3600", 3600],
      [429, inSeconds(600), 600],
      [503, "999999999", 86_400],
      [429, "soon", 5],
      [500, "120", 5],
    ];
    const receiver = await receive((response, arrival, turn) => {
      const [status, wish] = wishes[turn - 1] ?? [200, ""];
      answers(status, { "retry-after": wish })(response, arrival, turn);
    });
    const to = await beside(receiver.url);
    for (const [index, [status, wish, seconds]] of wishes.entries()) {
      await createProjects(to.maker, 1);
      const story = (await to.untilFailed(index + 1))[index];
      expect(story?.told).toEqual([`1 ${status} http_status`]);
      const waits = ((story?.next_attempt_at.getTime() ?? 0) - Date.now()) / 1000;
      expect(waits, `after ${status} with Retry-After: ${wish}`).toBeGreaterThan(seconds * 0.8 - 4);
      expect(waits, `after ${status} with Retry-After: ${wish}`).toBeLessThan(seconds * 1.2 + 4);
    }
    await to.letRetriesComeDue();
    await to.untilDelivered(wishes.length);
    await expectSoundDeliveries(sql, to.webhookId, receiver);
  });

  test("refuses connections → connection; when it is back on its port, everything arrives", async () => {
    const receiver = await receive(answers(200));
    await receiver.close();
    const to = await beside(receiver.url);
    await to.happen(3);
    expect((await to.untilFailed(3)).map(({ told }) => told)).toEqual(Array(3).fill(["1 - connection"]));
    await receiver.open();
    await to.letRetriesComeDue();
    expect((await to.untilDelivered(3)).map(({ told }) => told)).toEqual(Array(3).fill(["1 - connection", "2 200"]));
    await expectSoundDeliveries(sql, to.webhookId, receiver);
    expect(receiver.arrivals).toHaveLength(3);
  });

  test.each([
    ["speaks something else than TLS", "https", "\x15\x03\x01garbage\0\xff".repeat(50), "tls"],
    ["answers TLS with plain HTTP", "https", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "tls"],
    ["speaks something else than HTTP", "http", "SSH-2.0-OpenSSH_9.9\r\n", "connection"],
    ["sends a head of 300 kB", "http", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(300_000)}\r\n\r\n`, "too_large"],
    [
      "switches protocols",
      "http",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: ssh\r\nconnection: upgrade\r\n\r\n",
      "connection",
    ],
  ])("%s → failed as such, connected to once", async (_what, protocol, words, error) => {
    const raw = await startRawServer((socket) => socket.end(words, "latin1"));
    open.push(raw);
    const to = await beside(`${protocol}://127.0.0.1:${raw.port}/`);
    await to.happen(1);
    expect(only(await to.untilFailed(1)).told).toEqual([`1 - ${error}`]);
    expect(raw.connections()).toBe(1);
  });

  test("has moved to a forbidden address, by a row changed by hand → failed as address, nothing is connected to", async () => {
    const to = await beside("http://127.0.0.1:65535/");
    await sql`update keyframe.webhook_endpoints set url = 'https://169.254.169.254/latest' where id = ${to.webhookId}`;
    await to.happen(1);
    expect(only(await to.untilFailed(1)).told).toEqual(["1 - address"]);
  });

  test("fails at every attempt → exhausted after the tenth, and never tried again", async () => {
    const receiver = await receive(answers(500));
    const to = await beside(receiver.url);
    await to.happen(1);
    for (let attempt = 1; attempt < 10; attempt++) {
      await untilStories(
        sql,
        to.webhookId,
        `attempt ${attempt}`,
        1,
        (one) => one.attempts === attempt && hasFailed(one),
      );
      await to.letRetriesComeDue();
    }
    const isOver = ({ status }: Story) => status === "exhausted";
    const over = only(await untilStories(sql, to.webhookId, "it is exhausted", 1, isOver));
    expect(over.told).toEqual(Array.from({ length: 10 }, (_, index) => `${index + 1} 500 http_status`));
    await kickDeliver(stack);
    await (await beside("http://127.0.0.1:65535/")).happen(1);
    expect(receiver.arrivals).toHaveLength(10);
  });
});
