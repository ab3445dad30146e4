import { Webhook as SvixWebhook } from "svix";
import { afterEach, describe, expect, test } from "vitest";
import { webhookEvent } from "../../shared/contract/events.ts";
import { describeEvent, describeRefusal } from "../../tools/receiver/describe-event.ts";
import { type ReceiverOptions, type RefusedRequest, startReceiver } from "../../tools/receiver/start-receiver.ts";
import { runCommand } from "../support/tools/run-command.ts";
import { BODY, type Delivery, deliver, documentedBodies, OTHER_SECRET, SECRET, status } from "./receiver-fixture.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

function start(options: Partial<ReceiverOptions> = {}) {
  const refusals: RefusedRequest[] = [];
  const onRefusal = (refused: RefusedRequest) => refusals.push(refused);
  const receiver = startReceiver({ port: 0, secrets: [SECRET], onRefusal, ...options });
  stops.push(receiver.stop);
  return { ...receiver, refusals };
}

test("a signed POST to any path of the receiver → 204; the event parsed, as svix verifies it too", async () => {
  const { url, events, refusals } = start();
  expect(await status(deliver(`${url}webhooks/keyframe?a=b`, { id: "event-1" }))).toBe(204);
  expect(refusals).toEqual([]);
  expect(events).toMatchObject([{ id: "event-1", duplicate: false, body: BODY, event: { type: "project.created" } }]);
  const { body = "", headers = {} } = events[0] ?? {};
  expect(() => new SvixWebhook(SECRET).verify(body, headers)).not.toThrow();
  expect(() => new SvixWebhook(SECRET).verify(`${body} `, headers)).toThrow();
});

test("the same webhook-id sent again → 204, marked as a duplicate; only the latest events are kept", async () => {
  const { url, events } = start({ keep: 2 });
  for (const id of ["a", "b", "a"]) expect(await status(deliver(url, { id }))).toBe(204);
  expect(events.map(({ id, duplicate }) => [id, duplicate])).toEqual([
    ["b", false],
    ["a", true],
  ]);
});

test.each<[string, number, Delivery]>([
  ["signed with another secret", 401, { secrets: [OTHER_SECRET] }],
  ["six minutes old", 401, { at: new Date(Date.now() - 6 * 60_000) }],
  ["more than 64 KiB, however signed", 413, { body: "x".repeat(64 * 1024 + 1) }],
  ["signed, but no event", 400, { body: '{"type":"project.deleted"}' }],
])("a request to the receiver that is %s → %i, and not shown", async (_, expected, delivery) => {
  const { url, events, refusals } = start();
  expect(await status(deliver(url, delivery))).toBe(expected);
  expect(events).toEqual([]);
  expect(refusals.map((refused) => refused.status)).toEqual([expected]);
});

test("a body of more than 64 KiB that has not ended yet → 413", async () => {
  const { readable, writable } = new TransformStream();
  const sender = writable.getWriter();
  const answer = status(fetch(start().url, { method: "POST", body: readable }));
  await sender.write(new Uint8Array(64 * 1024 + 1));
  expect(await answer).toBe(413);
  await sender.close();
});

test("a receiver without a secret → 401; with the secret → 204", async () => {
  const { url, setSecrets } = start({ secrets: [] });
  expect(await status(deliver(url))).toBe(401);
  setSecrets([SECRET]);
  expect(await status(deliver(url))).toBe(204);
});

test("a receiver with hang, and a sender that gives up → the event counts as received, the next attempt as a duplicate", async () => {
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

describe("an event in one line", () => {
  const receivedAt = new Date("2026-03-01T09:32:42.000Z");
  const line = (body: unknown, duplicate = false) =>
    describeEvent({ id: "event-1", event: webhookEvent.parse(body), headers: {}, body: "", receivedAt, duplicate });
  const [created, succeeded, failed, exhausted, low, , tested] = documentedBodies.map((body) => JSON.parse(body));
  const project = "project 5f0c7a52-6f4e-4a39-9c55-1a6f0f8f2a10";
  const prediction = "prediction 0d9b3c1e-8f57-4c0b-a1f5-2f6f4f0f9b33";

  test.each([
    [
      "generation.succeeded → step, file, identifiers, delay",
      line(succeeded),
      `09:32:42.000Z  new        generation.succeeded  video  1280 × 720, 5 s, 1801 KiB  ${prediction}  ${project}  webhook-id event-1  98 ms after it happened`,
    ],
    [
      "generation.failed → why, and whether trying again can help",
      line(failed),
      `first-frame  content_rejected (input): "The model's safety filter rejected the prompt or an image. T", do not try again  ${prediction}  ${project}`,
    ],
    [
      "generation.succeeded with sound → said",
      line({ ...succeeded, data: { ...succeeded.data, output: { ...succeeded.data.output, hasAudio: true } } }),
      "1280 × 720, 5 s with sound, 1801 KiB",
    ],
    ["project.created, again → duplicate, title", line(created, true), `duplicate  project.created       "Harbour"`],
    [
      "budget.exhausted → whose, and until when",
      line(exhausted),
      `user ${exhausted.data.ownerId}: budget of the ${exhausted.data.period} until ${exhausted.data.resetsAt}`,
    ],
    ["balance.low → whose, and what is left", line(low), `user ${low.data.ownerId}: $0.64 left`],
    ["webhook.test → endpoint", line(tested), "webhook.test          endpoint c2a4b7f8-51d0-4a0e-9a4d-7b1f6e3d8c44"],
    [
      "a refusal → status and reason",
      describeRefusal({ receivedAt, status: 401, reason: "No matching\nsignature" }),
      "09:32:42.000Z  refused    401  No matching·signature",
    ],
  ])("a line of the receiver: %s", (_, said, expected) => {
    expect(said).toContain(expected);
  });

  test("an event's title that would move the cursor, reverse the text or be very long → shown safely in one line", () => {
    const nasty = JSON.parse(BODY);
    nasty.data.title = `a\n\u001b[2J\u009b2J\u202e${"🎬".repeat(100)}`;
    const said = line(nasty);
    expect(said).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(said.match(/🎬/gu)?.length).toBeLessThan(60);
  });
});

describe("npm run receiver", () => {
  const run = (args: string[], environment: Record<string, string> = {}) =>
    runCommand("tools/receiver.ts", args, environment);

  test("npm run receiver without a secret → how to get one, with the requested port; exit 1", async () => {
    const { code, error } = await run(["--port", "54391"]).ended;
    expect(code).toBe(1);
    expect(error).toContain(`-d '{"url":"http://127.0.0.1:54391/"}'`);
    expect(error).toContain("npm run receiver -- --port 54391");
  });

  test("npm run receiver with an invalid secret → one line that says so, without the secret; exit 1", async () => {
    const { code, error } = await run(["--port", "0", "--secret", "hunter2"]).ended;
    expect([code, error]).toEqual([1, "A webhook secret is whsec_ and base64.\n"]);
  });

  test("npm run receiver --json --fail 1 → a ready line, then one for each event and refusal; SIGTERM → exit 0", async () => {
    const child = run(["--port", "0", "--json", "--fail", "1"], { WEBHOOK_SECRET: `${OTHER_SECRET},${SECRET}` });
    await child.printed("\n");
    const ready = JSON.parse(child.output());
    expect(ready).toEqual({ ready: true, port: expect.any(Number) });
    const url = `http://127.0.0.1:${ready.port}/`;
    expect(await status(deliver(url, { secrets: [`whsec_${btoa("a".repeat(24))}`] }))).toBe(401);
    for (const expected of [500, 204, 204]) expect(await status(deliver(url, { id: "event-1" }))).toBe(expected);
    child.kill("SIGTERM");
    const { code, said } = await child.ended;
    expect(code).toBe(0);
    const [, ...lines] = said.trimEnd().split("\n");
    const event: unknown = JSON.parse(BODY);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { refused: { status: 401 } },
      { refused: { status: 500 } },
      { id: "event-1", duplicate: false, event },
      { id: "event-1", duplicate: true, event },
    ]);
  });
});
