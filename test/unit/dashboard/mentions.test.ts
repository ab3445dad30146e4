import { expect, test } from "vitest";
import { offeredFor, typedName, unknownName, usedIn } from "../../../dashboard/src/prompts/mentions.ts";

// The service's own reading of them: test/api/elements.test.ts.
const [anna, jon, pier, night] = ["Anna", "Jon", "The pier", "The pier at night"].map((name) => ({ name }));
const cast = [anna, jon, pier, night].flatMap((one) => one ?? []);
const namesIn = (prompt: string, own: typeof cast | null = null) =>
  usedIn(prompt, { ofFilm: cast, own }).map(({ name }) => name);

test.each([
  ["@anna waits on @the PIER.", ["Anna", "The pier"]],
  ["@the pier at night, @Jon and @Jon", ["The pier at night", "Jon"]],
  ["no people", ["Anna", "Jon", "The pier", "The pier at night"]],
  ["anna@example.org, @ Jon", ["Anna", "Jon", "The pier", "The pier at night"]],
])("the prompt “%s” in a film with a cast → uses %j", (prompt, names) => {
  expect(namesIn(prompt)).toEqual(names);
});

test("a shot with its own list of elements → those, and those in its prompt; an empty list → only those in its prompt", () => {
  expect(namesIn("@Jon", cast.slice(0, 1))).toEqual(["Anna", "Jon"]);
  expect([namesIn("no people", []), namesIn("@Jon", [])]).toEqual([[], ["Jon"]]);
});

test.each([
  ["@Anna and @Jon", null],
  ["@Ann", null], // it may become Anna
  ["@Ann waits", "@Ann"],
  ["@Annabel", "@Annabel"],
  ["with @Bob, at night", "@Bob"],
  ["a@b.example and @ nothing", null],
])("the prompt “%s” → unknown name: %s", (prompt, word) => {
  const words =
    word &&
    `“${word}” isn't in the cast (Anna, Jon, The pier, The pier at night). Fix the name, or put a space after the @.`;
  expect(unknownName(prompt, cast)).toBe(words);
  expect(unknownName(prompt, [])).toBe(null);
});

test.each([
  ["@", ["Anna", "Jon", "The pier", "The pier at night"]],
  ["with @th", ["The pier", "The pier at night"]],
  ["@the pier", ["The pier", "The pier at night"]],
  ["@Anna", []],
  ["@Anna ", []],
  ["mail@", []],
])("“%s” is typed into a prompt → offered: %j", (text, names) => {
  const typed = typedName(text, text.length);
  expect(typed === null ? [] : offeredFor(typed.start, cast).map(({ name }) => name)).toEqual(names);
});
