import { describe, expect, test } from "vitest";
import {
  changeWebhookBody,
  createWebhookBody,
  listDeliveriesQuery,
  recoverWebhookBody,
  rotateSecretBody,
} from "../../shared/contract/webhooks.ts";

type Schema = { safeParse(value: unknown): { success: boolean } };
const accepts = (schema: Schema, value: unknown) => schema.safeParse(value).success;
const url = "https://hooks.example.com/keyframe";

test("a new endpoint with nothing but its address → no description, all events, enabled, eight requests at once", () => {
  expect(createWebhookBody.parse({ url })).toEqual({
    url,
    description: "",
    eventTypes: [],
    enabled: true,
    maxInFlight: 8,
  });
});

test("an event named twice counts once", () => {
  const eventTypes = ["project.created", "generation.failed", "project.created"];
  expect(createWebhookBody.parse({ url, eventTypes }).eventTypes).toEqual(["project.created", "generation.failed"]);
});

describe("a new endpoint", () => {
  test.each<[object, boolean]>([
    [{}, false],
    [{ url: "" }, false],
    [{ url: 7 }, false],
    [{ url, eventTypes: ["project.created", "generation.succeeded", "generation.failed"] }, true],
    [{ url, eventTypes: ["webhook.test"] }, false],
    [{ url, eventTypes: ["project.*"] }, false],
    [{ url, eventTypes: "project.created" }, false],
    [{ url, enabled: "yes" }, false],
    [{ url, ownerId: null }, false],
    [{ url, secret: "whsec_mine" }, false],
    [{ url, maxInFlight: 1 }, true],
    [{ url, maxInFlight: 8 }, true],
    [{ url, maxInFlight: 0 }, false],
    [{ url, maxInFlight: 9 }, false],
    [{ url, maxInFlight: 1.5 }, false],
  ])("%j → %s", (body, fits) => {
    expect(accepts(createWebhookBody, body)).toBe(fits);
  });
});

test("an address has at most 2048 characters, a description at most 500", () => {
  const address = (length: number) => "https://a.example/".padEnd(length, "x");
  expect(accepts(createWebhookBody, { url: address(2048), description: "d".repeat(500) })).toBe(true);
  expect(accepts(createWebhookBody, { url: address(2049) })).toBe(false);
  expect(accepts(createWebhookBody, { url, description: "d".repeat(501) })).toBe(false);
});

describe("a change needs at least one field, and says nothing of the others", () => {
  test.each<[object, boolean]>([
    [{}, false],
    [{ url: undefined }, false],
    [{ url }, true],
    [{ enabled: false }, true],
    [{ description: "" }, true],
    [{ eventTypes: [] }, true],
    [{ maxInFlight: 1 }, true],
    [{ maxInFlight: null }, false],
    [{ url: null }, false],
    [{ enabled: true, disabledReason: null }, false],
  ])("%j → %s", (body, fits) => {
    expect(accepts(changeWebhookBody, body)).toBe(fits);
  });
  test("no default slips in", () => {
    expect(changeWebhookBody.parse({ enabled: false })).toEqual({ enabled: false });
  });
});

describe("an overlap is 0 to 72 whole hours, 24 unless it is said", () => {
  test("nothing said → 24", () => {
    expect(rotateSecretBody.parse({})).toEqual({ overlapHours: 24 });
  });
  test.each<[unknown, boolean]>([
    [0, true],
    [72, true],
    [73, false],
    [-1, false],
    [1.5, false],
    ["24", false],
    [null, false],
  ])("%j → %s", (overlapHours, fits) => {
    expect(accepts(rotateSecretBody, { overlapHours })).toBe(fits);
  });
});

describe("the time to recover from is ISO 8601 with its offset", () => {
  test.each<[unknown, boolean]>([
    ["2026-11-21T12:00:00Z", true],
    ["2026-11-21T12:00:00.123456+01:00", true],
    ["2026-11-21T12:00Z", false],
    ["2026-11-21T12:00:00", false],
    ["2026-11-21", false],
    ["2026-02-30T12:00:00Z", false],
    ["yesterday", false],
    ["infinity", false],
    [1_795_000_000, false],
    [undefined, false],
  ])("%j → %s", (since, fits) => {
    expect(accepts(recoverWebhookBody, { since })).toBe(fits);
  });
});

describe("a page of deliveries has 1 to 100, 20 unless it is said", () => {
  test("nothing said → 20", () => {
    expect(listDeliveriesQuery.parse({})).toEqual({ limit: 20 });
  });
  test.each<[object, boolean]>([
    [{ limit: "1" }, true],
    [{ limit: "100" }, true],
    [{ limit: "0" }, false],
    [{ limit: "101" }, false],
    [{ limit: "-1" }, false],
    [{ limit: "1e1" }, false],
    [{ limit: " 5" }, false],
    [{ limit: "" }, false],
    [{ status: "pending" }, true],
    [{ status: "exhausted" }, true],
    [{ status: "failed" }, false],
    [{ status: "" }, false],
    [{ offset: "5" }, false],
  ])("%j → %s", (query, fits) => {
    expect(accepts(listDeliveriesQuery, query)).toBe(fits);
  });
});
