import fc from "fast-check";
import { lookUp, type Schema } from "./document.ts";

/** Values that are there, by the name of the field or parameter that takes them. */
export type Known = Record<string, readonly string[]>;

/** JSON as text: `1e400`, `-0`, a name twice and `__proto__` do not survive as values. */
type Text = fc.Arbitrary<string>;

const quoted = (value: string) => JSON.stringify(value);

const NUMBERS = [
  "-0",
  "0",
  "1",
  "-1",
  "0.5",
  "61",
  "1e400",
  "-1e400",
  "1e-400",
  "9007199254740993",
  "1E+2",
  "2147483648",
];
const STRINGS = ["", " ", "\0", "a\0b", "\ud800", "\udc00x", "\u202e", "e\u0301", "👩‍👩‍👧‍👦", "%00", "'; --", "null"];
const NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "",
  "\0",
  "ownerId",
  "id",
  "status",
];

const longString = fc
  .tuple(
    fc.constantFrom("x", "é", "😀", "\n", "\ud83d"),
    fc.constantFrom(199, 200, 201, 500, 501, 2048, 4000, 4001, 9000),
  )
  .map(([unit, length]) => unit.repeat(length));

const deep: Text = fc
  .tuple(fc.constantFrom(["[", "]"], ['{"a":', "}"]), fc.constantFrom(10, 200, 5000, 10_000))
  .map(([[open = "", close = ""], depth]) => `${open.repeat(depth)}1${close.repeat(depth)}`);

/** Text of whatever kind: every plane of Unicode, halves of characters, NUL. */
export const anyString = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom(...STRINGS),
  { arbitrary: longString, weight: 1 },
);

/** JSON of whatever kind. */
export const anyJson: Text = fc.oneof(
  { arbitrary: fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)), weight: 3 },
  { arbitrary: fc.constantFrom(...NUMBERS), weight: 2 },
  { arbitrary: anyString.map(quoted), weight: 3 },
  { arbitrary: fc.constantFrom("null", "true", "[]", "{}", '{"__proto__":{"polluted":true}}', "[null]"), weight: 2 },
  { arbitrary: deep, weight: 1 },
);

const anyName = fc.oneof(fc.constantFrom(...NAMES), anyString);

/** JSON that fits a schema. Throws for an unknown kind of schema. */
function fitting(given: Schema, known: Known, name = ""): Text {
  const schema = typeof given.$ref === "string" ? (lookUp(given.$ref) as Schema) : given; // references are to schemas
  const values = known[name];
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum).map((value) => JSON.stringify(value));
  if ("const" in schema) return fc.constant(JSON.stringify(schema.const));
  if (schema.type === "boolean") return fc.boolean().map(String);
  if (schema.type === "integer") {
    if (values) return fc.constantFrom(...values);
    const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
    return fc.integer({ min: minimum ?? 0, max: maximum ?? 1_000_000 }).map(String);
  }
  if (schema.type === "string") return (values ? fc.constantFrom(...values) : fittingString(schema)).map(quoted);
  if (schema.type === "array") {
    return fc.array(fitting(schema.items as Schema, known), { maxLength: 4 }).map((items) => `[${items.join(",")}]`);
  }
  if (Array.isArray(schema.anyOf)) return fc.oneof(...schema.anyOf.map((one: Schema) => fitting(one, known, name)));
  if (schema.type === "null") return fc.constant("null");
  if (schema.type === "object") return fittingEntries(schema, known).map(written);
  throw new Error(`How values of ${JSON.stringify(schema)} are made is not known here.`);
}

function fittingString({ format, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (format === "uuid") return fc.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  if (format === "date-time") return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  const [least, most] = [Number(minLength), Number(maxLength)];
  const short = fc.string({
    unit: "grapheme-composite",
    minLength: least,
    maxLength: Math.max(least, Math.min(most, 30)),
  });
  return fc.oneof({ arbitrary: short, weight: 4 }, fc.constantFrom("x".repeat(most), "😀".repeat(most)));
}

type Entries = [name: string, text: string][];

const written = (entries: Entries) => `{${entries.map(([name, text]) => `${quoted(name)}:${text}`).join(",")}}`;

function fittingEntries(schema: Schema, known: Known): fc.Arbitrary<Entries> {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] };
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [name, fitting(field, known, name)]),
  );
  return fc.record(fields, { requiredKeys: required }).map((record) => Object.entries(record) as Entries);
}

/** What is done to a body that fits, at the place `at` (modulo its length). */
const change = fc.record({
  kind: fc.constantFrom("replace", "drop", "add", "repeat", "rename"),
  at: fc.nat(10),
  name: anyName,
  text: anyJson,
});

function changed(entries: Entries, changes: { kind: string; at: number; name: string; text: string }[]): Entries {
  const result = [...entries];
  for (const { kind, at, name, text } of changes) {
    const index = result.length === 0 ? 0 : at % result.length;
    const [ownName, ownText] = result[index] ?? [name, text];
    if (kind === "replace") result[index] = [ownName, text];
    else if (kind === "drop") result.splice(index, 1);
    else if (kind === "add") result.push([name, text]);
    else if (kind === "repeat") result.push([ownName, text]);
    else result[index] = [name, ownText];
  }
  return result;
}

/** A body that fits an object's schema, as JSON. */
export const fittingBody = (schema: Schema, known: Known): Text => fittingEntries(schema, known).map(written);

/** A body that would fit, were it not for one to three changes. */
export const spoiltBody = (schema: Schema, known: Known): Text =>
  fc
    .tuple(fittingEntries(schema, known), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([entries, changes]) => written(changed(entries, changes)));

/** One value of a parameter that fits, as a URL has it. */
export const fittingParameter = (schema: Schema, known: Known, name: string): fc.Arbitrary<string> =>
  fitting(schema, known, name).map((text) => (text.startsWith('"') ? (JSON.parse(text) as string) : text));
