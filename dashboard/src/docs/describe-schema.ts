import type { Schema } from "./open-api.ts";
import { limitsOf } from "./limits-of.ts";
import { nameOf } from "./resolve.ts";

/** One level of a schema, in words; what lies below is described when it is looked at. */
export type SchemaFacts = {
  /** As "string", "uuid", "list of" before a reference or an item; empty for a reference alone. */
  type: string;
  /** The component that it is, or a list of which it is: a link. */
  reference: string | null;
  isNullable: boolean;
  /** The only values there are, as JSON. */
  values: string[];
  limits: string[];
  description: string;
  /** As JSON; null where there is none. */
  default: string | null;
  example: string | null;
  /** The fields of it, or of the items of a list. */
  fields: { name: string; isRequired: boolean; schema: Schema }[];
  /** Of which it is any one. */
  variants: Schema[];
  /** What it says that the rest cannot tell, as JSON. */
  unknown: string | null;
};

/** `allOf`, `if` and the like do not occur in the document; should one come, it is seen. */
const KNOWN = new Set(
  (
    "$ref type description format pattern const enum default example examples minimum maximum exclusiveMinimum " +
    "exclusiveMaximum minLength maxLength minItems maxItems minProperties properties required additionalProperties " +
    "items anyOf oneOf"
  ).split(" "),
);

export function describeSchema(given: Schema): SchemaFacts {
  const { schema, isNullable } = withoutNull(given);
  const list = schema.items === undefined ? null : describeSchema(schema.items);
  const variants = schema.anyOf ?? schema.oneOf ?? [];
  const example = given.example ?? schema.example ?? list?.example;
  return {
    type: list ? `list of ${list.type}`.trim() : typeOf(schema, variants),
    reference: schema.$ref === undefined ? (list?.reference ?? null) : nameOf(schema.$ref),
    isNullable,
    values: valuesOf(schema, list),
    limits: [...limitsOf(schema), ...(list?.limits ?? []).map((limit) => `each ${limit}`)],
    description: given.description ?? schema.description ?? "",
    default: schema.default === undefined ? null : JSON.stringify(schema.default),
    example: example === undefined ? null : typeof example === "string" ? example : JSON.stringify(example),
    fields: list ? list.fields : fieldsOf(schema),
    variants: list ? list.variants : variants,
    unknown: unknownOf(schema) ?? list?.unknown ?? null,
  };
}

/** `anyOf: [X, null]` and `type: [X, "null"]` are X that may be null. */
function withoutNull(given: Schema): { schema: Schema; isNullable: boolean } {
  const { type, anyOf, ...others } = given;
  if (Array.isArray(type) && type.includes("null")) {
    const rest = type.filter((name) => name !== "null");
    const one = rest.length === 1 ? rest[0] : undefined;
    return { schema: { ...given, type: one ?? rest }, isNullable: true };
  }
  const rest = anyOf?.filter((variant) => variant.type !== "null");
  if (anyOf === undefined || rest === undefined || rest.length === anyOf.length) {
    return { schema: given, isNullable: false };
  }
  const [only] = rest;
  const schema = rest.length === 1 && only ? { ...only, ...others } : { ...others, anyOf: rest };
  return { schema, isNullable: true };
}

function typeOf(schema: Schema, variants: Schema[]): string {
  if (schema.$ref !== undefined) return "";
  if (variants.length > 0) return "one of";
  if (schema.format !== undefined && schema.type === "string") return schema.format;
  const type = schema.type ?? (schema.properties ? "object" : "anything");
  return Array.isArray(type) ? type.join(" or ") : type;
}

function valuesOf(schema: Schema, list: SchemaFacts | null): string[] {
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  return schema.enum?.map((value) => JSON.stringify(value)) ?? list?.values ?? [];
}

function fieldsOf({ properties = {}, required = [], additionalProperties }: Schema): SchemaFacts["fields"] {
  const own = Object.entries(properties).map(([name, schema]) => ({
    name,
    isRequired: required.includes(name),
    schema,
  }));
  const others = typeof additionalProperties === "object" && Object.keys(additionalProperties).length > 0;
  return others ? [...own, { name: "any name", isRequired: false, schema: additionalProperties }] : own;
}

function unknownOf(schema: Schema): string | null {
  const rest = Object.entries(schema).filter(([key]) => !KNOWN.has(key));
  return rest.length === 0 ? null : JSON.stringify(Object.fromEntries(rest), null, 2);
}
