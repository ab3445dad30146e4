import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { webhookEvent } from "../../../shared/contract/events.ts";
import recordedEvents from "../../support/receiver/recorded-events.json" with { type: "json" };
import { documentedBodies } from "../../tools/receiver-fixture.ts";

const byType = new Map(documentedBodies.map((body) => [JSON.parse(body).type, body]));

/**
 * The schema of the events as the first receivers had it, recorded. It is never edited. It allows more fields, because receivers were
 * told to ignore those they do not know.
 */
const acceptedAtFirst = addFormats.default(new Ajv2020({ strict: true })).compile(recordedEvents);

/** The documented example of this type with the value at this path replaced; undefined takes the field away. */
function changed(type: string, path: string, value: unknown): unknown {
  const body = JSON.parse(byType.get(type) ?? "");
  const names = path.split(".");
  const last = names.pop() ?? "";
  const parent = names.reduce((at, name) => at[name], body);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return body;
}

test("docs/receive-webhooks.md → has exactly one example of each type of event", () => {
  expect(documentedBodies.map((body) => JSON.parse(body).type)).toEqual([
    "project.created",
    "generation.succeeded",
    "generation.failed",
    "budget.exhausted",
    "balance.low",
    "balance.exhausted",
    "webhook.test",
  ]);
});

test.each([...byType.keys()])("%s, an example of the guide → accepted and unchanged", (type) => {
  const body: unknown = JSON.parse(byType.get(type) ?? "");
  expect(webhookEvent.parse(body)).toEqual(body);
});

describe("only the documented fields", () => {
  test.each<[string, string, unknown]>([
    ["project.created", "type", "project.deleted"],
    ["project.created", "timestamp", "2026-03-01T09:30:00Z"],
    ["project.created", "timestamp", "2026-03-01T09:30:00.125+00:00"],
    ["project.created", "error", { code: "x", message: "x", retryable: true }],
    ["project.created", "data.projectId", "1"],
    ["project.created", "data.description", undefined],
    ["project.created", "data.truncated", false],
    ["project.created", "data.email", "a@example.com"],
    ["generation.succeeded", "data.prompt", "A harbour"],
    ["generation.succeeded", "data.output.url", "https://example.com/signed"],
    ["generation.succeeded", "data.output.sha256", "9F86"],
    ["generation.succeeded", "data.output.bytes", 0],
    ["generation.succeeded", "data.output.contentType", "text/html"],
    ["generation.succeeded", "data.output.durationSeconds", null],
    ["generation.succeeded", "data.output.hasAudio", null],
    ["generation.succeeded", "data.requestedModel", null],
    ["generation.succeeded", "data.output", null],
    ["generation.failed", "error", undefined],
    ["generation.failed", "error.code", "Provider failed"],
    ["generation.failed", "error.stack", "at …"],
    ["generation.failed", "error.stage", "queue"],
    ["generation.failed", "data.error", { code: "x" }],
    ["project.created", "data.filmId", null],
    ["webhook.test", "data.endpointId", undefined],
    ["generation.succeeded", "data.cost", null],
    ["generation.failed", "data.cost", { amountMicros: 0.5, atMostMicros: 1, currency: "USD", state: "settled" }],
    ["budget.exhausted", "data.settledMicros", 1],
    ["budget.exhausted", "data.scope", "project"],
    ["balance.low", "data.creditMicros", 1],
    ["balance.exhausted", "data.estimateMicros", null],
  ])("the event %s with %s = %j → refused", (type, path, value) => {
    expect(webhookEvent.safeParse(changed(type, path, value)).success).toBe(false);
  });

  test.each<[string, string, unknown]>([
    ["project.created", "data.truncated", true],
    ["generation.succeeded", "data.output.durationSeconds", 5.041667],
    ["generation.succeeded", "data.output.durationSeconds", undefined],
    ["generation.succeeded", "data.output.hasAudio", true],
    ["generation.succeeded", "data.requestedModel", "google/veo-3.1"],
    ["generation.failed", "data.step", "video"],
    ["generation.failed", "data.cost", { amountMicros: null, atMostMicros: null, currency: "USD", state: "unknown" }],
    ["generation.succeeded", "data.cost", undefined],
    ["project.created", "data.filmId", crypto.randomUUID()],
    ["generation.succeeded", "data.filmId", crypto.randomUUID()],
    ["generation.failed", "data.filmId", crypto.randomUUID()],
    ["generation.failed", "error.stage", "output"],
  ])("the event %s with %s = %j → accepted, also by a receiver of the first version", (type, path, value) => {
    const event = changed(type, path, value);
    expect(webhookEvent.safeParse(event).success).toBe(true);
    expect([acceptedAtFirst(event), acceptedAtFirst.errors]).toEqual([true, null]);
  });
});
