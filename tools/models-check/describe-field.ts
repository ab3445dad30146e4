import type { FieldSchema } from "../../local/simulator/model-schemas.ts";

/** What a field takes, in a few words: `one of 5, 10`, `an integer from 3 to 15`, `a list of files`. */
export function describeField(field: FieldSchema): string {
  if (field.enum) return `one of ${field.enum.map((one) => JSON.stringify(one)).join(", ")}`;
  if (field.type === "array") {
    const most = field.maxItems === undefined ? "" : `, at most ${field.maxItems}`;
    return `a list of ${field.items?.format === "uri" ? "files" : `${field.items?.type ?? "value"}s`}${most}`;
  }
  if (field.type === "string") return field.format === "uri" ? "one file" : "text";
  return `${field.type === "integer" ? "an integer" : `a ${field.type ?? "value"}`}${range(field)}`;
}

function range({ minimum, maximum }: FieldSchema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` from ${minimum}`;
  return maximum === undefined ? "" : ` up to ${maximum}`;
}
