import { Webhook as SvixWebhook } from "svix";
import { afterEach, describe, expect, test } from "vitest";
import { type ReceiverOptions, type RefusedRequest, startReceiver } from "../../tools/receiver/start-receiver.ts";
import { BODY, type Delivery, deliver, OTHER_SECRET, SECRET, status } from "./receiver-fixture.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

function start(options: Partial<ReceiverOptions> = {}) {
  const refusals: RefusedRequest[] = [];
  const onRefusal = (refused: RefusedRequest) => refusals.push(refused);
  const receiver = startReceiver({ port: 0, secrets: [SECRET], onRefusal, ...options });
  stops.push(receiver.stop);
  return { ...receiver, refusals };
}

describe("a genuine event", () => {
  test("signed POST to any path → 204; the event parsed, as svix verifies it too", async () => {
    const { url, events, refusals } = start();
    expect(await status(deliver(`${url}webhooks/keyframe?a=b`, { id: "event-1" }))).toBe(204);
    expect(refusals).toEqual([]);
    expect(events).toMatchObject([{ id: "event-1", duplicate: false, body: BODY, event: { type: "project.created" } }]);
    const { body = "", headers = {} } = events[0] ?? {};
    expect(() => new SvixWebhook(SECRET).verify(body, headers)).not.toThrow();
    expect(() => new SvixWebhook(SECRET).verify(`${body} `, headers)).toThrow();
  });
});

describe("a request that is not genuine is refused and not shown", () => {
  test.each<[string, number, Delivery]>([
    ["signed with another secret", 401, { secrets: [OTHER_SECRET] }],
    ["no webhook-signature", 401, { drop: "webhook-signature" }],
    ["six minutes old", 401, { at: new Date(Date.now() - 6 * 60_000) }],
    ["more than 64 KiB, however signed", 413, { body: "x".repeat(64 * 1024 + 1) }],
    ["signed, but no JSON", 400, { body: "hello" }],
    ["signed, but no event", 400, { body: '{"type":"project.deleted"}' }],
  ])("%s → %i", async (_, expected, delivery) => {
    const { url, events, refusals } = start();
    expect(await status(deliver(url, delivery))).toBe(expected);
    expect(events).toEqual([]);
    expect(refusals.map((refused) => refused.status)).toEqual([expected]);
  });
});

describe("its secrets", () => {
  test("no secret yet → 401; with it → 204", async () => {
    const { url, setSecrets } = start({ secrets: [] });
    expect(await status(deliver(url))).toBe(401);
    setSecrets([SECRET]);
    expect(await status(deliver(url))).toBe(204);
  });
});

describe("trying retries", () => {
  test("hang: the sender gives up → the event counts as received, the next attempt is a duplicate", async () => {
    const { url, events } = start({ hangMs: 3_600_000 });
    for (const attempt of [1, 2]) {
      const patience = new AbortController();
      const answer = deliver(url, { id: "a", signal: patience.signal });
      await expect.poll(() => events.length, { interval: 5 }).toBe(attempt);
      patience.abort();
      await expect(answer).rejects.toThrow();
    }
    expect(events.map(({ duplicate }) => duplicate)).toEqual([false, true]);
  });
});
