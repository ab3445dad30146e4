import { describe, expect, test } from "vitest";
import { isCurrent, readTag, tagOf } from "../../../shared/api/http/respond.ts";
import { predictionRow as schema } from "../../../shared/api/data/map-prediction.ts";
import { NOW, PREDICTION, PROJECT, predictionRow, succeededFields } from "./fixture.ts";

const HOUR = 3_600_000;
const rowOf = (fields: Record<string, unknown> = {}) =>
  schema.parse(predictionRow({ output_duration_seconds: null, ...fields }));
/** Signed for an hour from now on. */
const file = { url: "https://a.example/", expiresAt: new Date(NOW.getTime() + HOUR).toISOString() };
const known = (header: string) => readTag(header) ?? { tag: "none", status: "queued", state: "none", expires: 0 };
const running = { status: "processing", progress: 0.5, queue_position: null, attempt: 1 };
const failed = {
  ...{ status: "failed", completed_at: "2026-11-21T12:00:03+00:00" },
  ...{ error_code: "provider_failed", error_message: "Change the prompt.", error_retryable: true },
};
const held = { amountMicros: null, atMostMicros: 67_000, currency: "USD", state: "held" };
const canceled = { status: "canceled", completed_at: "2026-11-21T12:00:03+00:00" };

const elementWith = (...changed: string[]) => ({
  ...succeededFields,
  changed_elements: [{ elementId: PROJECT, name: "Anna", changed }],
});

test.each([
  ["queued", {}],
  ["processing", running],
  ["processing", { ...running, status: "storing" }],
  ["processing", { ...running, status: "queued", started_at: "2026-11-21T12:00:01+00:00" }], // queued again
  ["succeeded", succeededFields],
  ["failed", failed],
  ["canceled", canceled],
] as const)(
  "a prediction that is %s → a weak ETag that begins with the status, and is current for the same row",
  (status, fields) => {
    const row = rowOf(fields);
    const tag = tagOf(row, status === "succeeded" ? file : undefined);
    expect(tag).toMatch(new RegExp(`^W/"${status}-${PREDICTION}[\\d.]+-\\d+"$`));
    expect(known(tag).tag).toBe(tag);
    expect(isCurrent(known(tag), row, NOW)).toBe(true);
  },
);

test.each<[string, object, object]>([
  ["the place in line", { queue_position: 3 }, { queue_position: 2 }],
  ["the video that it waited for", { waits_for: crypto.randomUUID() }, { waits_for: null }],
  ["the progress", running, { ...running, progress: 0.6 }],
  ["the attempt", running, { ...running, attempt: 2 }],
  ["the status", { ...running, status: "starting" }, running],
  ["another run of the step", running, { ...running, id: PROJECT }],
  ["whether it is outdated", succeededFields, { ...succeededFields, outdated: true }],
  ["an element", elementWith("text"), elementWith("name")],
  ["another field of it", elementWith("text"), elementWith("text", "name")],
  ["its element's end", elementWith("name"), elementWith("deleted")],
  ["the cost after its end", { ...canceled, cost: held }, { ...canceled, cost: { ...held, state: "unknown" } }],
  ["its amount", { ...canceled, cost: held }, { ...canceled, cost: { ...held, state: "settled", amountMicros: 5 } }],
])("an ETag after %s has changed → not current", (_what, before, after) => {
  const tag = known(tagOf(rowOf({ ...before }), file));
  expect(isCurrent(tag, rowOf({ ...after }), NOW)).toBe(false);
});

test("an ETag of an output → current while the signed URL is valid for over a quarter of an hour; never without a URL", () => {
  const row = rowOf(succeededFields);
  const at = (ms: number) => new Date(NOW.getTime() + ms);
  const tag = known(tagOf(row, file));
  const times = [0, (HOUR * 3) / 4 - 1, (HOUR * 3) / 4, HOUR, 10 * HOUR];
  expect(times.map((ms) => isCurrent(tag, row, at(ms)))).toEqual([true, true, false, false, false]);
  // The file is gone from Storage, but may come back.
  expect(isCurrent(known(tagOf(row, undefined)), row, NOW)).toBe(false);
});

const STATE = "00000000-0000-4000-8000-000000000000.0..";

describe("If-None-Match", () => {
  test.each([
    ...["*", "", "W/", '""', '"abc"', 'W/"queued"', `W/"queued-${STATE}"`, `W/"queued-${STATE.slice(0, 35)}-0"`],
    ...[`W/"queued-${STATE}é-0"`, `W/"queued-${STATE}-"`, `W/"queued-${STATE}--1x"`],
    ...[`W/"queued-${STATE}-1234567890123"`, `W/"storing-${STATE}-0"`, `W/"constructor-${STATE}-0"`],
    `W/queued-${STATE}-0`,
  ])("If-None-Match: %s → no tag of ours", (given) => {
    expect(readTag(given)).toBeUndefined();
  });

  test("If-None-Match with our tag among others, as a strong tag, or twice → the first of ours, as we write it", () => {
    const tag = `W/"queued-${STATE}-0"`;
    for (const given of [tag, tag.slice(2), `"abc", W/"x", ${tag}`, `${tag},"abc"`, `${tag}, W/"failed-${STATE}-0"`]) {
      expect(readTag(given)).toEqual({ tag, status: "queued", state: STATE, expires: 0 });
    }
  });

  test.each(['W/"', '"', "a", 'W/"queued-', `W/"queued-${STATE}-`, " ", ","])(
    "If-None-Match with 64 KiB of %j → read in no time",
    (piece) => {
      const header = piece.repeat(65_536 / piece.length);
      const began = performance.now();
      for (const given of [header, `W/"${header}`, `${header}x`]) expect(readTag(given)).toBeUndefined();
      expect(performance.now() - began).toBeLessThan(2000); // a search that goes back and forth takes many seconds
    },
  );
});
