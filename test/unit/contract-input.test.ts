import { expect, test } from "vitest";
import type { z } from "zod";
import { id, line, text } from "../../shared/contract/fields.ts";
import { changeProjectBody, listProjectsQuery } from "../../shared/contract/projects.ts";
import {
  changeWebhookBody,
  createWebhookBody,
  listDeliveriesQuery,
  recoverWebhookBody,
  rotateSecretBody,
} from "../../shared/contract/webhooks.ts";

// Bounds that no request of test/api/bad-input.test.ts tries.

const ID = "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99"; // an MD5: neither version nor variant of RFC 9562
const cut = ID.slice(0, -1);
const OTHER_IDS = [ID.replaceAll("-", ""), `{${ID}}`, cut, `${ID}\n`, `${cut}g`, `../../..${ID.slice(8)}`, "", null];
const url = "https://hooks.example.com/keyframe";
const long = (length: number) => "https://a.example/".padEnd(length, "x");
const SINCE = ["2026-11-21T12:00:00Z", "2026-11-21T12:00:00.123456+01:00"];
const NOT_SINCE = ["2026-11-21T12:00Z", "2026-11-21T12:00:00", "2026-02-30T12:00:00Z", "infinity", 1_795_000_000];

test.each<[string, z.ZodType, { good: unknown[]; bad: unknown[] }]>([
  [
    "an identifier: whatever Postgres writes as one, for it may have been chosen",
    id,
    { good: [ID, ID.toUpperCase(), `${"0".repeat(8)}${ID.slice(8)}`], bad: OTHER_IDS },
  ],
  [
    "a line: neither breaks nor bidirectional overrides, but joiners, as in emoji",
    line(1, 5),
    { good: ["a\u200db"], bad: ["a\nb", "a\u2028b", "a\u202eb", "a\u2066b"] },
  ],
  ["a change of a project", changeProjectBody, { good: [{ textPrompt: "p" }], bad: [{ title: undefined }] }],
  [
    "an endpoint",
    createWebhookBody,
    {
      good: [{ url: long(2048), description: "d".repeat(500), maxInFlight: 1 }],
      bad: [
        ...[{}, { url: 7 }, { url: long(2049) }, { url, secret: "whsec_mine" }, { url, enabled: "yes" }],
        ...[
          { url, eventTypes: "project.created" },
          { url, eventTypes: ["project.*"] },
        ],
        ...[0, 9, 1.5].map((maxInFlight) => ({ url, maxInFlight })),
      ],
    },
  ],
  [
    "a change of an endpoint",
    changeWebhookBody,
    { good: [{ maxInFlight: 8 }], bad: [{}, { url: undefined }, { url: null }, { maxInFlight: null }] },
  ],
  ["a rotation", rotateSecretBody, { good: [{ overlapHours: 0 }, { overlapHours: 72 }], bad: [] }],
  [
    "a recovery: ISO 8601 with its offset",
    recoverWebhookBody,
    { good: SINCE.map((since) => ({ since })), bad: NOT_SINCE.map((since) => ({ since })) },
  ],
  [
    "a page",
    listProjectsQuery,
    { good: [{ limit: "100" }, { limit: "007" }], bad: ["1.0", "٣"].map((limit) => ({ limit })) },
  ],
  ["deliveries", listDeliveriesQuery, { good: [{ status: "exhausted" }], bad: [{ status: "failed" }, { status: "" }] }],
])("%s", (_what, schema, { good, bad }) => {
  for (const value of good) expect([value, schema.safeParse(value).success]).toEqual([value, true]);
  for (const value of bad) expect([value, schema.safeParse(value).success]).toEqual([value, false]);
});

test("an identifier that is missing, and one of another shape → said apart", () => {
  const said = (value: unknown) => id.safeParse(value, { error: () => "Is required." }).error?.issues[0]?.message;
  expect([said("x"), said(undefined)]).toEqual(["Must be a UUID.", "Is required."]);
});

test("an event named twice → counts once", () => {
  const eventTypes = ["project.created", "generation.failed", "project.created"];
  expect(changeWebhookBody.parse({ eventTypes }).eventTypes).toEqual(["project.created", "generation.failed"]);
});

test.each([
  ["abcde", null],
  ["🎬".repeat(5), null], // as Postgres counts them, not UTF-16 units
  ["🎬".repeat(6), "Must have at most 5 characters."],
  ["", "Must not be empty."],
  ["\u200b", "Must contain a visible character."],
  ["a\0b", "Must not contain control characters other than tabs and line breaks."],
  ["a\ud83c", "Must be well-formed Unicode."],
])("the text %j, 1 to 5 characters → at most one sentence says why not: %j", (value, sentence) => {
  const issues = text(1, 5).safeParse(value).error?.issues ?? [];
  expect(issues.map(({ message }) => message)).toEqual(sentence === null ? [] : [sentence]);
});
