import { z } from "zod";

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const kind = z.enum(["string", "integer", "number", "boolean", "array", "object"]);

/** The schema of a value after references and alternatives are resolved. */
const value = z.object({
  type: kind.optional(),
  format: z.string().optional(),
  enum: z.array(scalar).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
});
const field = value.extend({
  items: value.optional(),
  maxItems: z.number().optional(),
  default: z.unknown().optional(),
  description: z.string().optional(),
  deprecated: z.boolean().optional(),
  "x-order": z.number().optional(),
});
export type FieldSchema = z.infer<typeof field>;

/** A model's published input: its fields in the provider's order, and the names of the required ones. */
export type InputSchema = { fields: Readonly<Record<string, FieldSchema>>; required: readonly string[] };

const plain = z.record(z.string(), z.unknown());
const published = z.object({
  components: z.object({
    schemas: z.looseObject({ Input: z.object({ properties: plain, required: z.array(z.string()).default([]) }) }),
  }),
});

/**
 * Reads a model's input from its OpenAPI document. The provider writes an enum as `allOf` with one `$ref`, and a nullable
 * value as `nullable` or as `anyOf` with the type null; both become the type itself. Throws when there is no Input.
 */
export function readInputSchema(openapi: unknown): InputSchema {
  const parsed = published.safeParse(openapi);
  if (!parsed.success) throw new Error(`it has no schema of its input: ${z.prettifyError(parsed.error)}`);
  const { Input, ...others } = parsed.data.components.schemas;
  const fields = Object.entries(Input.properties).map(([name, property]): [string, FieldSchema] => {
    const read = field.safeParse(flatten(property, others, 0));
    if (!read.success) throw new Error(`the schema of ${name} cannot be read: ${z.prettifyError(read.error)}`);
    return [name, read.data];
  });
  const order = ([, one]: [string, FieldSchema]) => one["x-order"] ?? Number.POSITIVE_INFINITY;
  fields.sort((a, b) => (order(a) === order(b) ? 0 : order(a) - order(b)));
  return { fields: Object.fromEntries(fields), required: Input.required };
}

const PREFIX = "#/components/schemas/";
const DEEPEST = 8;

function flatten(schema: unknown, named: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const parsed = plain.safeParse(schema);
  if (!parsed.success || depth > DEEPEST) return {};
  const { $ref, allOf, anyOf, oneOf, items, ...own } = parsed.data;
  if (Array.isArray(own.type)) own.type = own.type.find((one) => one !== "null");
  const target = typeof $ref === "string" && $ref.startsWith(PREFIX) ? named[$ref.slice(PREFIX.length)] : undefined;
  const alternatives = [anyOf, oneOf].flatMap((list) => {
    const some = Array.isArray(list) ? list.filter((one) => plain.safeParse(one).data?.type !== "null") : [];
    // With several alternatives, none applies to every value.
    return some.length === 1 ? some : [];
  });
  const parts = [target, ...(Array.isArray(allOf) ? allOf : []), ...alternatives].map((part) =>
    flatten(part, named, depth + 1),
  );
  const merged = Object.assign({}, ...parts, own);
  return items === undefined ? merged : { ...merged, items: flatten(items, named, depth + 1) };
}

const described = z.looseObject({ components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }) });
const branch = z.looseObject({
  type: z.string().optional(),
  format: z.string().optional(),
  properties: plain.optional(),
});

/**
 * Where the files are in what a model publishes of its output, such as "" (the output itself), "[]", "video" or "images[]". Null when
 * it publishes nothing, or a value of any kind.
 */
export function readOutputFiles(openapi: unknown): string[] | null {
  const { Output, ...others } = described.safeParse(openapi).data?.components.schemas ?? {};
  const filesIn = (schema: unknown, at: string, depth: number): string[] | null => {
    const flat = flatten(schema, others, 0);
    const { type, format, properties } = branch.safeParse(flat).data ?? {};
    if (depth > DEEPEST || (type === undefined && properties === undefined)) return null;
    if (type === "string") return format === "uri" || at === "" ? [at] : [];
    if (type === "array") return filesIn(flat.items, `${at}[]`, depth + 1);
    if (properties === undefined) return type === "object" ? null : [];
    return Object.entries(properties).flatMap(
      ([name, one]) => filesIn(one, at === "" ? name : `${at}.${name}`, depth + 1) ?? [],
    );
  };
  return filesIn(Output, "", 0);
}

export const recordedFolder = new URL("./schemas/", import.meta.url);

export const SOURCE_KINDS = ["read from the provider", "put together from public documentation"] as const;

const recorded = z.looseObject({
  "x-source": z.object({
    how: z.enum(SOURCE_KINDS),
    /** The pages it was compiled from; the version's id when it was read from the provider. */
    from: z.string(),
    url: z.url(),
    date: z.iso.date(),
  }),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
});

/** A model's published schema as a file of this repository, with its source. */
export type RecordedSchema = z.infer<typeof recorded>;

export function recordedFile(model: string, folder: URL = recordedFolder): URL {
  return new URL(`${model}.json`, folder);
}

/** Every recorded schema by the model's `owner/name`, in alphabetical order. Throws for an invalid file. */
export function readRecordedSchemas(folder: URL = recordedFolder): Record<string, RecordedSchema> {
  const names = [...Deno.readDirSync(folder)]
    .filter((owner) => owner.isDirectory)
    .flatMap((owner) =>
      Array.from(Deno.readDirSync(new URL(`${owner.name}/`, folder)), (file) => `${owner.name}/${file.name}`),
    )
    .filter((path) => path.endsWith(".json"))
    .map((path) => path.slice(0, -".json".length))
    .sort();
  return Object.fromEntries(names.map((name) => [name, readOne(name, folder)]));
}

function readOne(model: string, folder: URL): RecordedSchema {
  const parsed = recorded.safeParse(JSON.parse(Deno.readTextFileSync(recordedFile(model, folder))));
  if (!parsed.success) throw new Error(`schemas/${model}.json: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
