import { describe, expect, test } from "vitest";
import { type Delivery, KeyframeError } from "../../../client/index.ts";
import {
  aboutWords,
  attemptWords,
  deliveryState,
  fromLocalTime,
  isSoon,
  recoverySince,
  toLocalTime,
} from "../../../dashboard/src/webhooks/deliveries/delivery.ts";
import { relativeTime } from "../../../dashboard/src/ui/format-time.ts";
import { freezeList } from "../../../dashboard/src/webhooks/deliveries/use-frozen-list.ts";
import { endpointState, troubleWords } from "../../../dashboard/src/webhooks/endpoint.ts";
import { fillHours, sumHours } from "../../../dashboard/src/webhooks/health.ts";
import { changesOf, fieldErrors } from "../../../dashboard/src/webhooks/webhook-settings.ts";
import { SAMPLE_DELIVERY, SAMPLE_WEBHOOK } from "../../../shared/contract/samples.ts";
import { disabledReason } from "../../../shared/contract/webhooks.ts";

test("the last 24 hours, some without an attempt → zeros for those, and all other hours in place", () => {
  const known = [
    { hour: "2026-03-01T10:00:00+00:00", delivered: 3, retrying: 0, exhausted: 0 },
    { hour: "2026-03-02T09:00:00+00:00", delivered: 1, retrying: 2, exhausted: 4 },
  ];
  const hours = fillHours("2026-03-01T10:00:00+00:00", known);
  expect(hours.length).toBe(24);
  expect([hours[0], hours[23]]).toEqual(known);
  expect(hours[1]).toEqual({ hour: "2026-03-01T11:00:00.000Z", delivered: 0, retrying: 0, exhausted: 0 });
  expect(sumHours(hours)).toEqual({ delivered: 4, retrying: 2, exhausted: 4 });
});

test("an endpoint's edited settings → only changed ones are sent, without spaces around a pasted URL", () => {
  const saved = { url: "https://a.example", description: "CRM", eventTypes: ["webhook.test", "project.created"] };
  expect(changesOf(saved, {})).toEqual({});
  expect(changesOf(saved, { url: " https://a.example\n", description: "new" })).toEqual({ description: "new" });
  expect(changesOf(saved, { url: "https://b.example ", eventTypes: [] })).toEqual({
    url: "https://b.example",
    eventTypes: [],
  });
});

const refusal = (...paths: string[]) =>
  new KeyframeError("invalid_request", "No.", { details: paths.map((path) => ({ path, message: `${path}!` })) });

test("errors in fields of the form → shown at each field; any other error next to them → shown for the whole form", () => {
  expect(fieldErrors(refusal("url", "eventTypes.0"))).toEqual({ url: "url!", eventTypes: "eventTypes.0!" });
  expect(fieldErrors(refusal("url", "enabled"))).toBe(null);
  expect(fieldErrors(new KeyframeError("invalid_request", "You have 20 already."))).toBe(null);
  expect(fieldErrors(null)).toBe(null);
});

test.each([
  ["pending", null, "waiting", "Pending"],
  ["pending", "timeout", "retrying", "Retrying"],
  ["delivered", null, "delivered", "Delivered"],
  ["exhausted", "timeout", "exhausted", "Failed"],
] as const)("a delivery that is %s, its last error %s → %s, “%s”", (status, lastError, kind, label) => {
  expect(deliveryState({ ...SAMPLE_DELIVERY, status, lastError })).toEqual({ kind, label });
});

test.each([
  [204, null, "Answered 204", null],
  [400, "http_status", "Answered 400", expect.stringContaining("200 to 299")],
  [401, "http_status", "Answered 401", expect.stringContaining("secret")],
  [404, "http_status", "Answered 404", expect.stringContaining("path")],
  [410, "http_status", "Answered 410", expect.stringContaining("disabled")],
  [429, "http_status", "Answered 429", expect.stringContaining("Retry-After")],
  [500, "http_status", "Answered 500", expect.stringContaining("log")],
  [503, "http_status", "Answered 503", expect.stringContaining("Retry-After")],
  [null, "too_large", "Answer too large", expect.stringContaining("16 KiB")],
  [null, "connection", "Could not connect", expect.stringContaining("port")],
  [null, "dns", "Host not found", expect.stringContaining("DNS")],
  [null, "tls", "Certificate refused", expect.stringContaining("expired")],
  [null, "address", "Address not allowed", expect.stringContaining("not public")],
  [null, "not_signed", "Not sent: no signing secret", expect.stringContaining("Rotate the secret")],
  [null, null, "Not sent yet", null],
  [301, "redirect", "Answered with a redirect (301)", expect.stringContaining("not followed")],
  [null, "timeout", "No answer in time", expect.stringContaining("15 seconds")],
  [null, "newer_than_this_page", "newer_than_this_page", null],
])("an attempt's status %s, error %s → “%s”", (statusCode, error, short, hint) => {
  expect(attemptWords({ statusCode, error })).toEqual({ short, hint });
});

const OF_NO_PROJECT = { predictionId: null, projectTitle: null, projectId: null };

test.each<[given: Partial<Delivery>, words: string]>([
  [{ body: '{"data":{"step":"first-frame"}}' }, "First frame · Harbour"],
  [{ predictionId: null }, "Harbour"],
  [{ predictionId: null, projectTitle: null }, "Deleted project"],
  [{ eventType: "webhook.test", ...OF_NO_PROJECT }, "A test"],
  [{ eventType: "budget.exhausted", ...OF_NO_PROJECT }, ""],
])("a delivery with %o → is about “%s”", (given, words) => {
  expect(aboutWords({ ...SAMPLE_DELIVERY, status: "delivered", ...given })).toBe(words);
});

const none = { delivered: 0, retrying: 0, exhausted: 0 };
const failingSince = "2026-03-01T11:00:00Z";
test.each([
  [{ enabled: false, disabledReason: "by_owner" as const }, none, "Off"],
  [{ enabled: false, disabledReason: "gone" as const, failingSince }, none, "Disabled"],
  [{ failingSince }, { ...none, delivered: 9 }, "Failing"],
  [{}, undefined, "Enabled"],
  [{}, { ...none, delivered: 9, retrying: 1 }, "Some failures"],
  [{}, { ...none, delivered: 9, exhausted: 1 }, "Some failures"],
  [{}, { ...none, delivered: 9 }, "Healthy"],
  [{}, none, "No recent deliveries"],
])("an endpoint %o with %o in 24 hours → “%s”", (state, sums, label) => {
  const webhook = { ...SAMPLE_WEBHOOK, enabled: true, disabledReason: null, failingSince: null, ...state };
  expect(endpointState(webhook, sums).label).toBe(label);
});

describe("warnings about an endpoint", () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  const webhook = { ...SAMPLE_WEBHOOK, enabled: true, disabledReason: null, disabledAt: null, failingSince: null };

  test("an endpoint that delivers, or failed a moment ago → no warning", () => {
    expect(troubleWords(webhook, now)).toBe(null);
    expect(troubleWords({ ...webhook, failingSince: "2026-03-01T11:55:00Z" }, now)).toBe(null);
  });

  test("an endpoint that failed for long, or was disabled for it → a warning without numbers, which administrators can change", () => {
    const failing = troubleWords({ ...webhook, failingSince: "2026-03-01T11:00:00Z" }, now);
    const disabled = troubleWords({ ...webhook, enabled: false, disabledReason: "failing" }, now);
    expect(failing?.title).toBe("Every attempt is failing");
    for (const words of [failing, disabled]) expect(JSON.stringify(words)).not.toMatch(/\d|five|ten times/);
  });

  const TITLES = {
    by_owner: "This endpoint is turned off",
    gone: "Disabled: your server answered 410 Gone",
    failing: "Disabled: every attempt failed for too long",
  };
  test.each(disabledReason.options)(
    "an endpoint disabled, %s → says why, and to enable it, then to recover",
    (reason) => {
      const words = troubleWords({ ...webhook, enabled: false, disabledReason: reason }, now);
      expect(words?.title).toBe(TITLES[reason]);
      expect(words?.whatToDo).toMatch(/enable (it|the endpoint), then recover what it missed\.$/i);
    },
  );
});

test.each([
  ["pending", "2026-03-01T11:59:45Z", true], // it is being sent
  ["pending", "2026-03-01T12:00:06Z", true], // the first retry comes after 4 to 6 s
  ["pending", "2026-03-01T12:01:20Z", true],
  ["pending", "2026-03-01T12:01:40Z", false],
  ["pending", "2026-03-01T12:04:00Z", false], // the second retry comes after 4 to 6 minutes
  ["delivered", "2026-03-01T11:59:45Z", false],
  ["exhausted", null, false],
] as const)("a delivery that is %s and due at %s → polled each second at noon: %s", (status, nextAttemptAt, soon) => {
  const delivery = { ...SAMPLE_DELIVERY, status, nextAttemptAt };
  expect(isSoon(delivery, Date.parse("2026-03-01T12:00:00Z"))).toBe(soon);
});

test("a time in a field in the user's time zone, and back → the same minute; no time → null", () => {
  const time = new Date("2026-07-01T12:34:00Z");
  expect(fromLocalTime(toLocalTime(time))).toBe(time.toISOString());
  expect(fromLocalTime("")).toBe(null);
});

test.each([
  ["fails for three days", { failingSince: "2026-02-26T12:00:00.000Z" }, "2026-02-26T12:00:00.000Z"],
  ["was disabled two days ago", { disabledAt: "2026-02-27T12:00:00.000Z" }, "2026-02-27T12:00:00.000Z"],
  ["fails for an hour", { failingSince: "2026-03-01T11:00:00.000Z" }, "2026-02-28T12:00:00.000Z"],
  ["is well", {}, "2026-02-28T12:00:00.000Z"],
])("an endpoint that %s → recovery is proposed from then on, and for at least a day", (_what, state, since) => {
  const webhook = { ...SAMPLE_WEBHOOK, failingSince: null, disabledAt: null, ...state };
  expect(recoverySince(webhook, Date.parse("2026-03-01T12:00:00Z")).toISOString()).toBe(since);
});

describe("a list that is frozen while it is read", () => {
  /** A delivery of the minute that its name says. */
  const at = (minute: number, changes: Partial<Delivery> = {}): Delivery => ({
    ...SAMPLE_DELIVERY,
    status: "delivered",
    deliveryId: `of minute ${minute}`,
    createdAt: `2026-03-01T10:${String(minute).padStart(2, "0")}:00.000Z`,
    ...changes,
  });
  const names = (deliveries: Delivery[]) => deliveries.map(({ deliveryId }) => deliveryId.slice("of minute ".length));

  test("newer deliveries arrive while a list is read → they are only counted", () => {
    const { rows, newer } = freezeList([at(5), at(4)], [at(7), at(6), at(5), at(4)]);
    expect([names(rows), newer]).toEqual([["5", "4"], 2]);
  });

  test("a row of a frozen list changes → shown as it is now, at the same place", () => {
    const { rows } = freezeList([at(5), at(4, { attempts: 1 })], [at(5), at(4, { attempts: 2 })]);
    expect(rows.map(({ attempts }) => attempts)).toEqual([SAMPLE_DELIVERY.attempts, 2]);
  });

  test("rows of a frozen list are missing from the next read → stay as they were, at the same place", () => {
    const frozen = [at(5), at(4), at(3)];
    const { rows, newer } = freezeList(frozen, [at(7), at(4)]);
    expect([names(rows), newer]).toEqual([["5", "4", "3"], 1]);
    expect(rows[0]).toBe(frozen[0]);
  });

  test("older rows are loaded into a frozen list, one of the same moment → added below", () => {
    const same = at(5, { deliveryId: "of minute 5b" });
    const { rows, newer } = freezeList([at(5), at(4)], [at(6), at(5), same, at(4), at(3)]);
    expect([names(rows), newer]).toEqual([["5", "4", "5b", "3"], 1]);
  });

  test("a list frozen while it was empty → every new row is shown", () => {
    const { rows, newer } = freezeList([], [at(6), at(5)]);
    expect([names(rows), newer]).toEqual([["6", "5"], 0]);
  });
});

test("a time within a minute → “in less than a minute” or “just now”, also if this device's clock is slightly behind", () => {
  const now = Date.parse("2026-03-01T10:00:00Z");
  const words = [30, 2, -30, 90].map((seconds) => relativeTime(new Date(now + seconds * 1000).toISOString(), now));
  expect(words).toEqual(["in less than a minute", "just now", "just now", "in 1 minute"]);
});
