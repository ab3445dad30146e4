import { describe, expect, test } from "vitest";
import { referenceImagePath, text } from "../../shared/contract/fields.ts";

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success;

describe("text counts characters as Postgres does, not UTF-16 units", () => {
  test.each<[string, boolean]>([
    ["", false],
    ["a", true],
    ["🎬".repeat(5), true],
    ["🎬".repeat(6), false],
    ["abcde", true],
    ["abcdef", false],
    ["a\0b", false],
    ["a\ud83c", false],
    ["\n", true],
  ])("%j, 1 to 5 → %s", (value, fits) => {
    expect(accepts(text(1, 5), value)).toBe(fits);
  });
  test("no least length → empty fits", () => {
    expect(accepts(text(0, 5), "")).toBe(true);
  });
});

describe("a reference image lies in projects, one level deep", () => {
  test.each<[unknown, boolean]>([
    ["projects/a.png", true],
    ["projects/0e8a1f3c-2a1b-4c7d-8e9f-1a2b3c4d5e6f.webp", true],
    [`projects/${"a".repeat(200)}`, true],
    [`projects/${"a".repeat(201)}`, false],
    ["projects/", false],
    ["a.png", false],
    ["/projects/a.png", false],
    ["Projects/a.png", false],
    ["generations/a.png", false],
    ["projects/a/b.png", false],
    ["projects/../a.png", false],
    ["projects/..", false],
    ["projects/a..png", false],
    ["projects/.hidden", false],
    ["projects/a%2fb.png", false],
    ["projects/a\\b.png", false],
    ["projects/a b.png", false],
    ["projects/a.png\n", false],
    ["projects/a.png?x", false],
    ["https://example.com/a.png", false],
    [["projects/a.png"], false],
    [null, false],
  ])("%j → %s", (value, fits) => {
    expect(accepts(referenceImagePath, value)).toBe(fits);
  });
});
