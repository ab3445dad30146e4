import { expect, test } from "vitest";
import type { z } from "zod";
import { STEPS } from "../../shared/contract/fields.ts";
import {
  changeProjectBody,
  createProjectBody,
  latestPredictions,
  listPredictionsQuery,
  listProjectsQuery,
} from "../../shared/contract/projects.ts";
import { SAMPLE_PREDICTION } from "../../shared/contract/samples.ts";
import {
  changeWebhookBody,
  createWebhookBody,
  listDeliveriesQuery,
  recoverWebhookBody,
  rotateSecretBody,
} from "../../shared/contract/webhooks.ts";

const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success;
const url = "https://hooks.example.com/keyframe";

test.each<[string, z.ZodType, object, object]>([
  ["a project", createProjectBody, { title: "t", textPrompt: "p" }, { title: "t", textPrompt: "p", description: "" }],
  [
    "an endpoint: every event, eight requests at once",
    createWebhookBody,
    { url },
    { url, description: "", eventTypes: [], enabled: true, maxInFlight: 8 },
  ],
  ["a rotation: an overlap of a day", rotateSecretBody, {}, { overlapHours: 24 }],
  ["pages: 20 rows", listProjectsQuery, {}, { limit: 20 }],
  ["pages: 20 rows", listPredictionsQuery, {}, { limit: 20 }],
  ["pages: 20 rows", listDeliveriesQuery, {}, { limit: 20 }],
  ["a change of a project has none", changeProjectBody, { title: "t" }, { title: "t" }],
  ["a change of an endpoint has none", changeWebhookBody, { enabled: false }, { enabled: false }],
  [
    "an event named twice counts once",
    changeWebhookBody,
    { eventTypes: ["project.created", "generation.failed", "project.created"] },
    { eventTypes: ["project.created", "generation.failed"] },
  ],
])("defaults of %s", (_what, schema, given, parsed) => {
  expect(schema.parse(given)).toEqual(parsed);
});

const long = (length: number) => "https://a.example/".padEnd(length, "x");
const SINCE = ["2026-11-21T12:00:00Z", "2026-11-21T12:00:00.123456+01:00"];
const NOT_SINCE = ["2026-11-21T12:00Z", "2026-11-21T12:00:00", "2026-11-21", "2026-02-30T12:00:00Z", "infinity"];

test.each<[string, z.ZodType, { good: unknown[]; bad: unknown[] }]>([
  [
    "a change of a project",
    changeProjectBody,
    {
      good: [{ textPrompt: "p" }, { description: "" }],
      bad: [{}, { title: undefined }, { title: "t", updatedAt: "now" }],
    },
  ],
  [
    "an endpoint",
    createWebhookBody,
    {
      good: [
        { url, eventTypes: ["project.created", "generation.succeeded", "generation.failed"] },
        { url: long(2048), description: "d".repeat(500) },
        { url, maxInFlight: 1 },
        { url, maxInFlight: 8 },
      ],
      bad: [
        ...[{}, { url: 7 }, { url: long(2049) }, { url, description: "d".repeat(501) }, { url, secret: "whsec_mine" }],
        ...[
          { url, eventTypes: ["webhook.test"] },
          { url, eventTypes: ["project.*"] },
          { url, eventTypes: "project.created" },
        ],
        ...[
          { url, enabled: "yes" },
          { url, maxInFlight: 0 },
          { url, maxInFlight: 9 },
          { url, maxInFlight: 1.5 },
        ],
      ],
    },
  ],
  [
    "a change of an endpoint",
    changeWebhookBody,
    {
      good: [{ url }, { enabled: false }, { description: "" }, { eventTypes: [] }, { maxInFlight: 1 }],
      bad: [{}, { url: undefined }, { url: null }, { maxInFlight: null }, { enabled: true, disabledReason: null }],
    },
  ],
  [
    "a rotation",
    rotateSecretBody,
    {
      good: [{ overlapHours: 0 }, { overlapHours: 72 }],
      bad: [73, -1, 1.5, "24", null].map((overlapHours) => ({ overlapHours })),
    },
  ],
  [
    "a recovery: ISO 8601 with its offset",
    recoverWebhookBody,
    {
      good: SINCE.map((since) => ({ since })),
      bad: [{}, ...[...NOT_SINCE, 1_795_000_000].map((since) => ({ since }))],
    },
  ],
  [
    "a page of projects",
    listProjectsQuery,
    {
      good: [{ limit: "1" }, { limit: "100" }, { limit: "007" }, { include: "predictions" }],
      bad: [
        ...["0", "101", "1.0", "1e1", "-1", " 5", "", "٣"].map((limit) => ({ limit })),
        ...[{ include: "predictions,files" }, { include: "" }, { page: "2" }],
      ],
    },
  ],
  [
    "a page of predictions",
    listPredictionsQuery,
    { good: STEPS.map((step) => ({ step })), bad: [{ step: "middle-frame" }, { include: "predictions" }] },
  ],
  [
    "a page of deliveries",
    listDeliveriesQuery,
    { good: [{ status: "exhausted" }], bad: [{ status: "failed" }, { status: "" }, { offset: "5" }] },
  ],
])("%s", (_what, schema, { good, bad }) => {
  for (const value of good) expect([value, accepts(schema, value)]).toEqual([value, true]);
  for (const value of bad) expect([value, accepts(schema, value)]).toEqual([value, false]);
});

test("the latest predictions name every step, with null where none was started", () => {
  const none = { "first-frame": null, "last-frame": null, video: null };
  expect(accepts(latestPredictions, { ...none, video: SAMPLE_PREDICTION })).toBe(true);
  for (const step of STEPS) expect(accepts(latestPredictions, { ...none, [step]: undefined })).toBe(false);
});
