import { expect, test } from "vitest";
import { digestText } from "../../supabase/functions/api/http/digest-text.ts";

test("a text → 16 hex digits, the same each time", () => {
  for (const text of ["", "a", "ä😀", "x".repeat(10_000)]) {
    expect(digestText(text)).toMatch(/^[0-9a-f]{16}$/);
    expect(digestText(text)).toBe(digestText(text));
  }
});

// Known from elsewhere: the first lane is FNV-1a with 32 bits.
test.each([
  ["", "811c9dc5"],
  ["a", "e40c292c"],
  ["foobar", "bf9cf968"],
])("%j → begins with its FNV-1a", (text, expected) => {
  expect(digestText(text).slice(0, 8)).toBe(expected);
});

test("100,000 texts that differ in a number or two → as many digests, in each half nearly as many", () => {
  const texts = Array.from(
    { length: 100_000 },
    (_, at) =>
      `{"id":"5b1c9a52","status":"processing","progress":${at % 1000},"queue_position":${Math.floor(at / 1000)}}`,
  );
  const digests = texts.map(digestText);
  expect(new Set(digests).size).toBe(texts.length);
  for (const half of [0, 8]) {
    // By chance alone one pair or two would meet in 32 bits.
    expect(new Set(digests.map((digest) => digest.slice(half, half + 8))).size).toBeGreaterThan(texts.length - 20);
  }
});

test("one character more, less, another or two exchanged → another digest", () => {
  const text = '{"progress":0.35,"queue_position":12}';
  const changed = new Set([text]);
  for (let at = 0; at < text.length; at++) {
    changed.add(text.slice(0, at) + text.slice(at + 1));
    changed.add(`${text.slice(0, at)}x${text.slice(at)}`);
    changed.add(`${text.slice(0, at)}x${text.slice(at + 1)}`);
    changed.add(text.slice(0, at) + (text[at + 1] ?? "") + (text[at] ?? "") + text.slice(at + 2));
  }
  expect(new Set([...changed].map(digestText)).size).toBe(changed.size);
});
