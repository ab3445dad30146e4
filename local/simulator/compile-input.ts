import { Ajv, type ValidateFunction } from "ajv";
import { checkFile } from "./check-file.ts";
import type { FieldSchema, InputSchema } from "./input-schema.ts";

// Keywords of OpenAPI (deprecated, x-order) say nothing of a value. An error carries the value it is about.
const ajv = new Ajv({ strict: false, allErrors: true, verbose: true });
ajv.addFormat("uri", (value: string) => checkFile(value) === null);
ajv.addFormat("password", true);

/** Checks values of one field, a file's address as the provider does: http, https or a small data URL. */
export function compileField(field: FieldSchema): ValidateFunction {
  return ajv.compile(withoutWords(field));
}

/** Checks a whole input, which has no fields but those of the schema. */
export function compileInput({ fields, required }: InputSchema): ValidateFunction {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, withoutWords(field)]));
  return ajv.compile({ type: "object", properties, required, additionalProperties: false });
}

function withoutWords({ description: _1, deprecated: _2, "x-order": _3, default: _4, ...rest }: FieldSchema): object {
  return rest;
}
