import type { ApiDocument, Schema } from "./open-api.ts";
import { operationsOf } from "./operations-of.ts";
import { resolve } from "./resolve.ts";

/** A value that fits a schema: its own example, else put together from its fields. */
export type MakeSample = (schema: Schema) => unknown;

const DEEP = 8;

const BY_FORMAT: Record<string, unknown> = {
  "date-time": "2026-03-01T09:30:00.125Z",
  uuid: "b7d6f0de-3c43-4a55-8f2e-0c9f5a1f7e21",
  uri: "https://example.com/",
};

/** What no example of the document tells. */
const BY_NAME: [string, string][] = [
  ["code", "provider_rejected_input"],
  ["message", "The provider refused the input: the prompt was flagged."],
];

const BY_TYPE: Record<string, unknown> = { string: "…", integer: 1, number: 1, boolean: true, null: null };

/** Fields of the same name have values as in the document's examples, so that what belongs together looks it. */
export function createSampler(document: ApiDocument): MakeSample {
  const known = knownValues(document);

  function make(given: Schema, name: string, depth: number): unknown {
    const schema = resolve<Schema>(document, given);
    if (schema === undefined || depth > DEEP) return null;
    const own = schema.example ?? schema.examples?.[0] ?? schema.const ?? schema.enum?.[0];
    if (own !== undefined) return own;
    const variant = schema.anyOf?.[0] ?? schema.oneOf?.[0];
    if (variant !== undefined) return make(variant, name, depth + 1);
    if (schema.items !== undefined) return [make(schema.items, name, depth + 1)];
    if (schema.properties !== undefined) {
      const { properties, required = [] } = schema;
      // Of a change, where each field may be absent but not all of them, all are shown.
      const fields = Object.entries(properties).filter(([field]) => required.length === 0 || required.includes(field));
      return Object.fromEntries(fields.map(([field, inner]) => [field, make(inner, field, depth + 1)]));
    }
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    const fit = known.get(name);
    if (typeof fit === (type === "integer" ? "number" : type)) return fit;
    return schema.default ?? BY_FORMAT[schema.format ?? ""] ?? BY_TYPE[type ?? ""] ?? {};
  }

  return (schema) => make(schema, "", 0);
}

/** The first value of each field that is a text or a number. */
function knownValues(document: ApiDocument): Map<string, string | number> {
  const known = new Map<string, string | number>(BY_NAME);
  const learn = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner !== "string" && typeof inner !== "number") learn(inner);
      else if (!known.has(name)) known.set(name, inner);
    }
  };
  for (const { examples = [] } of Object.values(document.components?.schemas ?? {})) learn(examples);
  for (const { examples } of operationsOf(document)) learn(examples.map(({ path, body }) => ({ ...path, body })));
  return known;
}
