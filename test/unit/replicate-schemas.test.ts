import { describe, expect, test } from "vitest";
import { checkInput } from "../../local/simulator/check-input.ts";
import {
  readInputSchema,
  readRecordedSchemas,
  recordedFile,
  writeSchema,
} from "../../local/simulator/model-schemas.ts";
import { models } from "../../local/simulator/models.ts";

const recorded = readRecordedSchemas();

test("every model of the simulator has its record, and every record is of one", () => {
  expect(Object.keys(recorded).sort()).toEqual(Object.keys(models).sort());
});

describe.each(Object.entries(recorded))("%s", (name, schema) => {
  test("its file → in the form that --record writes, so that a new record changes only what has changed", () => {
    expect(Deno.readTextFileSync(recordedFile(name))).toBe(writeSchema(schema));
  });
  test("its source → a page of the model's own at the provider", () => {
    expect(schema["x-source"].url).toContain(`/${name}`);
  });
  test("its fields → each has a type; what the simulator's behaviour names is there; defaults are values it takes", () => {
    const model = models[name];
    if (!model) throw new Error(`no model ${name}`);
    const { fields, required } = readInputSchema(schema);
    expect(Object.entries(fields).filter(([, { type }]) => type === undefined)).toEqual([]);
    const used = [model.firstFrame, model.lastFrame, model.references].filter((field) => field !== undefined);
    const ruled = (model.rules ?? []).flatMap((rule) => {
      if (rule.rule === "excludes") return [...rule.fields, ...rule.others];
      if (rule.rule === "ignores") return [rule.field, rule.when];
      return rule.rule === "at most" ? [rule.field] : [rule.field, rule.other];
    });
    expect([...used, ...ruled].filter((field) => !(field in fields))).toEqual([]);
    const defaults = Object.entries(fields).flatMap(([field, { default: preset }]) =>
      preset === undefined ? [] : [[field, preset]],
    );
    const needed = required.map((field) => [field, fields[field]?.format === "uri" ? "https://x.test/a.png" : "text"]);
    expect(checkInput({ ...model, rules: [] }, Object.fromEntries([...needed, ...defaults]))).toEqual([]);
  });
});

const read = (property: object, others: object = {}) =>
  readInputSchema({ components: { schemas: { Input: { properties: { a: property } }, ...others } } }).fields.a;
const words = { words: { type: "string", enum: ["x", "y"], title: "words" } };
const reference = { $ref: "#/components/schemas/words" };

test.each<[string, object, object]>([
  ["allOf with a reference", { allOf: [reference], default: "x" }, { type: "string", enum: ["x", "y"] }],
  ["a bare reference", reference, { type: "string", enum: ["x", "y"] }],
  ["anyOf with null", { anyOf: [reference, { type: "null" }] }, { type: "string", enum: ["x", "y"] }],
  ["a list of types with null", { type: ["integer", "null"], minimum: 1 }, { type: "integer", minimum: 1 }],
  ["nullable", { type: "string", format: "uri", nullable: true }, { type: "string", format: "uri" }],
  [
    "a list of references",
    { type: "array", items: { allOf: [reference] } },
    { type: "array", items: { type: "string", enum: ["x", "y"] } },
  ],
  [
    "an empty anyOf beside a type",
    { type: "array", items: { type: "string", anyOf: [], format: "uri" } },
    { type: "array", items: { type: "string", format: "uri" } },
  ],
])("a field written as %s → read as what it takes", (_name, property, field) => {
  expect(read(property, words)).toMatchObject(field);
});

test("alternatives of several types → nothing is said of the type; a reference to itself → read all the same", () => {
  expect(read({ anyOf: [{ type: "string" }, { type: "integer" }] })?.type).toBeUndefined();
  expect(
    read({ $ref: "#/components/schemas/loop" }, { loop: { $ref: "#/components/schemas/loop" } })?.type,
  ).toBeUndefined();
});

test("fields → in the provider's order; no Input → an error that says so", () => {
  const properties = {
    b: { type: "string", "x-order": 1 },
    c: { type: "string" },
    a: { type: "string", "x-order": 0 },
  };
  const { fields } = readInputSchema({ components: { schemas: { Input: { properties } } } });
  expect(Object.keys(fields)).toEqual(["a", "b", "c"]);
  expect(() => readInputSchema({ openapi: "3.0.2" })).toThrow("it has no schema of its input");
});

test("a schema with maxItems → the provider's own limit is kept without a rule of ours", () => {
  const model = models["google/nano-banana"];
  if (!model) throw new Error("no model");
  const list = { type: "array", items: { type: "string", format: "uri" }, maxItems: 2 } as const;
  const input = { fields: { image_input: list }, required: [] };
  const found = checkInput({ ...model, input }, { image_input: Array(3).fill("https://x.test/a.png") });
  expect(found).toEqual([
    { type: "array_max_items", field: "input.image_input", description: "Array must have at most 2 items" },
  ]);
});

test("keys in any order → the same text; short lists on one line, long ones a line each", () => {
  const long = Array.from({ length: 30 }, (_, i) => `value ${i}`);
  expect(writeSchema({ b: [1, 2], a: { y: {}, x: null } })).toBe(writeSchema({ a: { x: null, y: {} }, b: [1, 2] }));
  expect(writeSchema({ b: [1, 2], "x-source": "s" })).toBe('{\n  "x-source": "s",\n  "b": [1, 2]\n}\n');
  expect(writeSchema({ a: long }).split("\n")).toHaveLength(35);
});
