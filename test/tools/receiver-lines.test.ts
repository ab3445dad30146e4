import { describe, expect, test } from "vitest";
import { describeEvent, describeRefusal } from "../../tools/receiver/describe-event.ts";
import { webhookEvent } from "../../shared/contract/events.ts";
import { BODY, documentedBodies } from "./receiver-fixture.ts";

const line = (body: unknown, duplicate = false) =>
  describeEvent({
    id: "event-1",
    event: webhookEvent.parse(body),
    headers: {},
    body: "",
    receivedAt: new Date("2026-03-01T09:32:42.000Z"),
    duplicate,
  });

describe("an event in one line", () => {
  const [created, succeeded, failed, exhausted, tested] = documentedBodies.map((body) => JSON.parse(body));
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
      `first-frame  content_rejected (input): "The provider rejected the content of the input. Change the p", do not try again  ${prediction}  ${project}`,
    ],
    [
      "generation.succeeded with sound → said",
      line({ ...succeeded, data: { ...succeeded.data, output: { ...succeeded.data.output, hasAudio: true } } }),
      "1280 × 720, 5 s with sound, 1801 KiB",
    ],
    ["project.created, again → duplicate", line(created, true), "09:32:42.000Z  duplicate  project.created"],
    ["project.created → title", line(created), `"Harbour"  ${project}`],
    [
      "budget.exhausted → whose, and until when",
      line(exhausted),
      `user ${exhausted.data.ownerId}: budget of the ${exhausted.data.period} until ${exhausted.data.resetsAt}`,
    ],
    ["webhook.test → endpoint", line(tested), "webhook.test          endpoint c2a4b7f8-51d0-4a0e-9a4d-7b1f6e3d8c44"],
  ])("%s", (_, said, expected) => {
    expect(said).toContain(expected);
  });

  test("a title that would move the cursor, turn the line around or go on for long → does not", () => {
    const nasty = JSON.parse(BODY);
    nasty.data.title = `a\n\u001b[2J\u009b2J\u202e${"🎬".repeat(100)}`;
    const said = line(nasty);
    expect(said).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(said.match(/🎬/gu)?.length).toBeLessThan(60);
  });

  test("a refusal → status and reason", () => {
    const receivedAt = new Date("2026-03-01T09:32:42.000Z");
    expect(describeRefusal({ receivedAt, status: 401, reason: "No matching\nsignature" })).toBe(
      "09:32:42.000Z  refused    401  No matching·signature",
    );
  });
});
