import { expect, test } from "vitest";
import { describeSchema } from "../../dashboard/src/docs/describe-schema.ts";
import { lookInto } from "../../dashboard/src/docs/look-into.ts";
import type { Schema } from "../../dashboard/src/docs/open-api.ts";
import { resolve } from "../../dashboard/src/docs/resolve.ts";
import { document } from "./dashboard-docs-fixture.ts";

const facts = (schema: Schema) => describeSchema(schema);

test("a text → its type and limits in words", () => {
  expect(facts({ type: "string", minLength: 1, maxLength: 200 })).toMatchObject({
    type: "string",
    limits: ["1 to 200 characters"],
    isNullable: false,
  });
});

test("a least length of 0 and the limits of exact integers → nothing said", () => {
  expect(facts({ type: "string", minLength: 0, maxLength: 5 }).limits).toEqual(["at most 5 characters"]);
  const whole = { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
  expect(facts(whole).limits).toEqual([]);
  expect(facts({ type: "integer", exclusiveMinimum: 0, maximum: 60 }).limits).toEqual(["at most 60", "more than 0"]);
  expect(facts({ type: "integer", minimum: 0, maximum: 1 }).limits).toEqual(["0 to 1"]);
});

test("a format → instead of its pattern; a pattern alone → shown", () => {
  expect(facts({ type: "string", format: "uuid", pattern: "^x$" })).toMatchObject({ type: "uuid", limits: [] });
  expect(facts({ type: "string", pattern: "^x$" }).limits).toEqual(["matches ^x$"]);
});

test("null beside one type, in either spelling → that type, nullable", () => {
  expect(facts({ type: ["string", "null"] })).toMatchObject({ type: "string", isNullable: true });
  expect(facts({ anyOf: [{ type: "number", minimum: 0, maximum: 1 }, { type: "null" }] })).toMatchObject({
    type: "number",
    limits: ["0 to 1"],
    isNullable: true,
    variants: [],
  });
});

test("null beside a reference → a link, with the field's own description", () => {
  const schema = {
    anyOf: [{ $ref: "#/components/schemas/Output" }, { type: "null" }],
    description: "If it succeeded.",
  };
  expect(facts(schema)).toMatchObject({
    type: "",
    reference: "Output",
    isNullable: true,
    description: "If it succeeded.",
  });
});

test("several kinds → each a variant, null not among them", () => {
  const schema = { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] };
  expect(facts(schema)).toMatchObject({ type: "one of", isNullable: true });
  expect(facts(schema).variants).toEqual([{ type: "string" }, { type: "integer" }]);
});

test("a list → what it lists, with the choices and fields of its items", () => {
  expect(facts({ type: "array", items: { type: "string", enum: ["a", "b"] } })).toMatchObject({
    type: "list of string",
    values: ['"a"', '"b"'],
  });
  expect(facts({ type: "array", maxItems: 3, items: { type: "string", maxLength: 9 } }).limits).toEqual([
    "at most 3 items",
    "each at most 9 characters",
  ]);
  const listed = facts({ type: "array", items: { $ref: "#/components/schemas/Project" } });
  expect(listed).toMatchObject({ type: "list of", reference: "Project" });
  expect(lookInto(document, listed).fields.map(({ name }) => name)).toContain("projectId");
});

test("an object → its fields in order, the required ones marked, and those of any name", () => {
  const schema = {
    type: "object",
    properties: { b: { type: "string" }, a: { type: "string" } },
    required: ["a"],
    additionalProperties: { type: "integer" },
  };
  expect(facts(schema).fields.map(({ name, isRequired }) => [name, isRequired])).toEqual([
    ["b", false],
    ["a", true],
    ["any name", false],
  ]);
});

test("one constant, a default and an example → as JSON, a text example as it is", () => {
  expect(facts({ const: false, type: "boolean" }).values).toEqual(["false"]);
  expect(facts({ type: "string", default: "", example: '"g";r=1' })).toMatchObject({
    default: '""',
    example: '"g";r=1',
  });
});

test("what the page does not know → as it stands", () => {
  expect(JSON.parse(facts({ type: "object", allOf: [{ type: "object" }] } as Schema).unknown ?? "")).toEqual({
    allOf: [{ type: "object" }],
  });
});

test("the whole document → nothing in it is unknown to the page, and every reference leads somewhere", () => {
  const seen = new Set<Schema>();
  const visit = (schema: Schema): void => {
    if (seen.has(schema)) return;
    seen.add(schema);
    const found = facts(schema);
    expect(found.unknown).toBeNull();
    const inside = lookInto(document, found);
    if (found.reference !== null) expect(inside).not.toBe(found);
    for (const field of inside.fields) visit(field.schema);
    for (const variant of inside.variants) visit(variant);
  };
  const find = (value: unknown, key: string): void => {
    if (typeof value !== "object" || value === null) return;
    if (key === "schema") visit(value as Schema); // the document's own word for one
    for (const [name, inner] of Object.entries(value)) find(inner, name);
  };
  find(document, "");
  for (const schema of Object.values(document.components?.schemas ?? {})) visit(schema);
  expect(seen.size).toBeGreaterThan(100);
});

test("a reference in a circle, outside, or to nothing → undefined", () => {
  const components = { schemas: { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } } };
  const circle = { openapi: "3.1.0", paths: {}, components };
  for (const $ref of [
    "#/components/schemas/A",
    "https://example.com/x",
    "#/components/schemas/toString",
    "#/nowhere",
  ]) {
    expect(resolve(circle, { $ref })).toBeUndefined();
  }
});

test("a reference with escaped characters → followed", () => {
  const odd = { openapi: "3.1.0", paths: { "/a~b": { get: { summary: "found" } } } };
  expect(resolve(odd, { $ref: "#/paths/~1a~0b/get" })).toEqual({ summary: "found" });
});
