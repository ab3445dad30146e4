import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answerExcerpt } from "../../supabase/functions/keyframe-deliver/send/post.ts";
import { parseRetryAfter } from "../../supabase/functions/keyframe-deliver/send/attempt.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("the beginning of an answer", () => {
  test.each<[string, Uint8Array, string]>([
    ["exactly 1 KiB", bytes("a".repeat(1024)), "a".repeat(1024)],
    ["a character of four bytes across the end", bytes(`${"a".repeat(1022)}😀`), "a".repeat(1022)],
    ["NUL among letters", bytes("a\0b\0"), "ab"],
    ["a byte order mark", bytes("\ufeffa"), "\ufeffa"],
    ["bytes that are no UTF-8, each three bytes as U+FFFD", new Uint8Array(1024).fill(0xff), "\ufffd".repeat(341)],
  ])("%s → %#", (_what, given, expected) => {
    expect(answerExcerpt([given])).toBe(expected);
  });

  test("whatever comes → at most 1 KiB of well-formed UTF-8 without NUL; of a text its beginning, short by less than one character", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), fc.string({ unit: "grapheme", maxLength: 600 }), (some, text) => {
        const clean = text.replaceAll("\0", "");
        for (const given of [some, bytes(clean)]) {
          const excerpt = answerExcerpt([given]);
          expect(bytes(excerpt).length).toBeLessThanOrEqual(1024);
          expect([excerpt.isWellFormed(), excerpt.includes("\0")]).toEqual([true, false]);
        }
        const beginning = answerExcerpt([bytes(clean)]);
        expect(clean.startsWith(beginning)).toBe(true);
        expect(bytes(beginning).length).toBeGreaterThan(Math.min(bytes(clean).length, 1024) - 4);
      }),
    );
  });

  test("in pieces, wherever they were cut → the same as in one", () => {
    const sizes = fc.array(fc.nat({ max: 700 }), { maxLength: 6 });
    const text = fc.string({ unit: "grapheme", maxLength: 600 }).map(bytes);
    fc.assert(
      fc.property(fc.oneof(text, fc.uint8Array({ maxLength: 2000 })), sizes, (given, cuts) => {
        const pieces: Uint8Array[] = [];
        let rest = given;
        for (const size of [...cuts, given.length]) {
          pieces.push(rest.subarray(0, size));
          rest = rest.subarray(size);
        }
        expect(answerExcerpt(pieces)).toBe(answerExcerpt([given]));
      }),
    );
    expect(answerExcerpt([])).toBe("");
  });
});

describe("Retry-After", () => {
  const now = new Date("2026-02-03T04:05:00Z");
  test.each<[string | undefined, number | null]>([
    [undefined, null],
    ["", null],
    ["0", 0],
    ["120", 120],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER],
    ["Tue, 03 Feb 2026 04:06:30 GMT", 90],
    ["Tuesday, 03-Feb-26 04:06:30 GMT", 90],
    ["Tue, 03 Feb 2026 04:00:00 GMT", 0],
    ["-5", null],
    ["1.5", null],
    ["soon", null],
    ["Tue, 99 Feb 2026", null],
    ["2026-02-03T04:06:30Z", null],
  ])("%s → %s", (header, seconds) => {
    expect(parseRetryAfter(header, now)).toBe(seconds);
  });
});
