import { describe, expect, test } from "vitest";
import { id, referenceImagePath, text } from "../../shared/contract/fields.ts";

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success;

describe("an identifier is whatever Postgres writes as one, for it may have been chosen", () => {
  test.each<[unknown, boolean]>([
    ["0e8a1f3c-2a1b-4c7d-8e9f-1a2b3c4d5e6f", true],
    ["5f4dcc3b-5aa7-65d6-1d83-27deb882cf99", true], // an MD5: neither version nor variant of RFC 9562
    ["00000000-0000-0000-0000-000000000001", true],
    ["5F4DCC3B-5AA7-65D6-1D83-27DEB882CF99", true],
    ["5f4dcc3b5aa765d61d8327deb882cf99", false],
    ["{5f4dcc3b-5aa7-65d6-1d83-27deb882cf99}", false],
    ["5f4dcc3b-5aa7-65d6-1d83-27deb882cf9", false],
    ["5f4dcc3b-5aa7-65d6-1d83-27deb882cf99\n", false],
    ["5f4dcc3b-5aa7-65d6-1d83-27deb882cf9g", false],
    ["../../../5aa7-65d6-1d83-27deb882cf99", false],
    ["", false],
    [null, false],
  ])("%j → %s", (value, fits) => {
    expect(accepts(id, value)).toBe(fits);
  });
  test("what is none → said in words; what is absent is not", () => {
    const saying = (value: unknown) => id.safeParse(value, { error: () => "Is required." }).error?.issues[0]?.message;
    expect([saying("x"), saying(undefined)]).toEqual(["Must be a UUID.", "Is required."]);
  });
});

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
    ["\n", false],
    ["\na", true],
  ])("%j, 1 to 5 → %s", (value, fits) => {
    expect(accepts(text(1, 5), value)).toBe(fits);
  });
  test.each([
    ["", "Must not be empty."],
    ["\u200b", "Must contain a visible character."],
    ["a\0", "Must not contain control characters other than tabs and line breaks."],
    ["\u001b[2J", "Must not contain control characters other than tabs and line breaks."],
    ["abcdef", "Must have at most 5 characters."],
  ])("%j → one sentence says why not", (value, sentence) => {
    expect(
      text(1, 5)
        .safeParse(value)
        .error?.issues.map(({ message }) => message),
    ).toEqual([sentence]);
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
    ["keyframe-outputs/a.png", false],
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
