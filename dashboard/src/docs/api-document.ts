import { SAMPLE } from "../../../shared/contract/samples.ts";

type Texts<Name extends string> = Record<Name, string>;
/** What the page shows of the service's openapi.json, its references followed. */
export type ApiDocument = Record<"paths" | "webhooks", Record<string, Record<string, Operation>>> & {
  info: Texts<"description">;
  tags: Texts<"name" | "description">[];
  components: { securitySchemes: Record<string, Texts<"description">> };
};
type Content = Record<string, { schema: Schema; example?: unknown }>;
type Operation = Texts<"operationId" | "summary" | "description"> & {
  tags: string[];
  security: object[];
  parameters?: (Texts<"in" | "name"> & { required?: boolean; schema: Schema })[];
  requestBody?: { content: Content };
  responses: Record<string, Texts<"description"> & { headers?: Content; content?: Content }>;
  "x-examples"?: Example[];
};
type Example = { summary: string; path?: Texts<string>; query?: Texts<string>; body?: unknown };
/** `address`: its path, with parameters, below the address of the functions. */
export type Place = { method: string; address: string; operation: Operation };
/** The reader's own identifiers, named as in SAMPLE. */
export type Own = Record<string, string | undefined>;
type Schema = Partial<Record<"minimum" | "maximum" | "minLength" | "maxLength", number>> &
  Partial<Texts<"description" | "format" | "pattern" | "const">> & {
    type?: string | string[];
    enum?: unknown[];
    anyOf?: Schema[];
    items?: Schema;
    properties?: Record<string, Schema>;
    required?: string[];
    additionalProperties?: Schema | false;
    example?: unknown;
  };
export type Field = [name: string, schema: Schema, note?: string];

/** With what each reference leads to in its place. No schema of the document contains itself. */
export function followReferences(document: object, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((part) => followReferences(document, part));
  if (typeof value !== "object" || value === null) return value;
  const { $ref = "", ...others } = value as { $ref?: string }; // an object of a JSON document
  const [, ...names] = $ref.split("/");
  const target = names.length > 0 && names.reduce<unknown>((at, name) => Object(at)[name], document);
  const own = Object.entries(others).map(([name, part]) => [name, followReferences(document, part)]);
  return { ...Object(followReferences(document, target)), ...Object.fromEntries(own) };
}

/** Such as "integer, 1 to 60, or null". */
export function typeOf(schema: Schema): string {
  const { type = "", format, pattern, minimum = -Infinity, maximum = Infinity, minLength = 0, maxLength } = schema;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(", or ");
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  let text = [type].flat().join(" or ");
  if (format !== undefined) return `${text} (${format})`;
  if (maxLength !== undefined) text += `, ${minLength} to ${maxLength} characters`;
  if (minimum > Number.MIN_SAFE_INTEGER && maximum < Number.MAX_SAFE_INTEGER) text += `, ${minimum} to ${maximum}`;
  return pattern === undefined ? text : `${text}, matches ${pattern}`;
}

/** Those of an object, or of the elements or values that have any. */
export function fieldsOf({ properties, required = [], ...schema }: Schema): Field[] {
  if (properties !== undefined)
    return Object.entries(properties).map(([name, field]) => [name, field, required.includes(name) ? "required" : ""]);
  const parts = [...(schema.anyOf ?? []), schema.items, schema.additionalProperties || undefined];
  return parts.flatMap((part) => (part === undefined ? [] : fieldsOf(part)));
}

/** The answers, each with its data and headers as fields. */
export const answersOf = ({ responses }: Operation): Field[] =>
  Object.entries(responses).map(([status, { description, headers = {}, content = {} }]) => {
    const [{ schema, example } = {}] = Object.values(content);
    const { data } = schema?.properties ?? {};
    const fields = Object.entries(headers).map(([name, header]) => [name, header.schema]);
    return [status, { description, example, properties: { ...(data && { data }), ...Object.fromEntries(fields) } }];
  });

/**
 * For a shell. A word in capitals stands for an identifier that is not known, or whose row would be deleted or canceled. The credentials
 * are variables of the shell, so that the page shows no secret.
 */
export function commandOf({ method, address, operation }: Place, { path = {}, query = {}, body }: Example, own: Own) {
  const [credentials = {}] = operation.security;
  const [type = ""] = Object.keys(operation.requestBody?.content ?? {});
  const url = `${address.replaceAll(/\{(\w+)\}/g, (_, name) => path[name] ?? "")}?${new URLSearchParams(query)}`;
  const parts = [`curl -X ${method.toUpperCase()} '${url.replace(/\?$/, "")}'`];
  if ("session" in credentials) parts.push('-H "Authorization: Bearer $TOKEN"');
  if ("secretKey" in credentials) parts.push('-H "apikey: $SECRET_KEY"');
  if (type.startsWith("image/")) parts.push(`-H 'Content-Type: ${type}'`, "--data-binary @image.png");
  if (body !== undefined) {
    const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    parts.push("-H 'Content-Type: application/json'", `-d '${json}'`);
  }
  const known = method === "delete" || operation.operationId === "cancelPrediction" ? {} : own;
  const word = (name: string) => name.replaceAll(/[A-Z]/g, "_$&").toUpperCase();
  return Object.entries(SAMPLE).reduce(
    (command, [name, sample]) => command.replaceAll(sample, known[name] ?? word(name)),
    parts.join(" \\\n  "),
  );
}
