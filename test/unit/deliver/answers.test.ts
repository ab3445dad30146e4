import fc from "fast-check";
import { expect, test } from "vitest";
import { retryAfterSeconds } from "../../../shared/http/retry-after.ts";
import { answerExcerpt } from "../../../supabase/functions/keyframe-deliver/send/excerpt.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test.each<[string, Uint8Array, string]>([
  ["exactly 1 KiB", bytes("a".repeat(1024)), "a".repeat(1024)],
  ["a byte order mark", bytes("\ufeffa"), "\ufeffa"],
  ["bytes that are no UTF-8, each three bytes as U+FFFD", new Uint8Array(1024).fill(0xff), "\ufffd".repeat(341)],
])("the beginning of an answer, %s → %#", (_what, given, expected) => {
  expect(answerExcerpt(given)).toBe(expected);
});

test("any answer of a receiver → at most 1 KiB of well-formed UTF-8 without NUL, not cut within a character", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 1024 }), fc.string({ unit: "grapheme", maxLength: 600 }), (some, text) => {
      const clean = bytes(text.replaceAll("\0", "")).subarray(0, 1024);
      for (const given of [some, bytes(text).subarray(0, 1024)]) {
        const excerpt = answerExcerpt(given);
        expect(bytes(excerpt).length).toBeLessThanOrEqual(1024);
        expect([excerpt.isWellFormed(), excerpt.includes("\0")]).toEqual([true, false]);
      }
      const beginning = answerExcerpt(clean);
      expect(text.replaceAll("\0", "").startsWith(beginning)).toBe(true);
      expect(bytes(beginning).length).toBeGreaterThan(clean.length - 4);
    }),
  );
});

test.each<[unknown, number | null]>([
  [undefined, null],
  ["", null],
  ["0", 0],
  ["120", 120],
  [2.5, 2.5],
  [-5, 0],
  ["9".repeat(400), Number.MAX_SAFE_INTEGER],
  ["Tue, 03 Feb 2026 04:06:30 GMT", 90],
  ["Tuesday, 03-Feb-26 04:06:30 GMT", 90],
  ["Tue, 03 Feb 2026 04:00:00 GMT", 0],
  ["-5", null],
  ["1.5", null],
  ["soon", null],
  ["Tue, 99 Feb 2026", null],
  ["2026-02-03T04:06:30Z", null],
])("Retry-After: %s → %s seconds", (given, seconds) => {
  expect(retryAfterSeconds(given, Date.parse("2026-02-03T04:05:00Z"))).toBe(seconds);
});
