import { expect, test } from "vitest";
import { id, line, text } from "../../shared/contract/fields.ts";

// Paths of reference images: test/api/bad-*.test.ts.

const ID = "5f4dcc3b-5aa7-65d6-1d83-27deb882cf99"; // an MD5: neither version nor variant of RFC 9562

test("an identifier is whatever Postgres writes as one, for it may have been chosen", () => {
  for (const good of ["0e8a1f3c-2a1b-4c7d-8e9f-1a2b3c4d5e6f", ID, ID.toUpperCase(), `${"0".repeat(8)}${ID.slice(8)}`]) {
    expect([good, id.safeParse(good).success]).toEqual([good, true]);
  }
  const cut = ID.slice(0, -1);
  for (const bad of [
    ID.replaceAll("-", ""),
    `{${ID}}`,
    cut,
    `${ID}\n`,
    `${cut}g`,
    `../../..${ID.slice(8)}`,
    "",
    null,
  ]) {
    expect([bad, id.safeParse(bad).success]).toEqual([bad, false]);
  }
  const saying = (value: unknown) => id.safeParse(value, { error: () => "Is required." }).error?.issues[0]?.message;
  expect([saying("x"), saying(undefined)]).toEqual(["Must be a UUID.", "Is required."]);
});

const CONTROLS = "Must not contain control characters other than tabs and line breaks.";
const TOO_LONG = "Must have at most 5 characters.";

test.each([
  ["a", null],
  ["abcde", null],
  ["🎬".repeat(5), null], // as Postgres counts them, not UTF-16 units
  ["\na", null],
  ["🎬".repeat(6), TOO_LONG],
  ["abcdef", TOO_LONG],
  ["", "Must not be empty."],
  ["\n", "Must contain a visible character."],
  ["\u200b", "Must contain a visible character."],
  ["a\0b", CONTROLS],
  ["\u001b[2J", CONTROLS],
  ["a\ud83c", "Must be well-formed Unicode."],
])("the text %j, 1 to 5 characters → at most one sentence says why not: %j", (value, sentence) => {
  const found =
    text(1, 5)
      .safeParse(value)
      .error?.issues.map(({ message }) => message) ?? [];
  expect(found).toEqual(sentence === null ? [] : [sentence]);
  expect(text(0, 5).safeParse("").success).toBe(true);
});

test("a line → neither breaks nor bidirectional overrides", () => {
  for (const bad of ["a\nb", "a\u2028b", "a\u202eb", "a\u2066b"]) expect(line(1, 5).safeParse(bad).success).toBe(false);
  expect(line(1, 5).safeParse("a\u200db").success).toBe(true); // a joiner, as in emoji
});
