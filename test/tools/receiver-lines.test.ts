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
  test.each(documentedBodies)("%s → its type", (body) => {
    expect(line(JSON.parse(body))).toContain(JSON.parse(body).type);
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
