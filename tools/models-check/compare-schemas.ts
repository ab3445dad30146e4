import type { FieldSchema, InputSchema } from "../../local/simulator/model-schemas.ts";
import { describeField } from "./describe-field.ts";

/** How what is recorded of a model differs from what it publishes, field by field; words and order do not count. */
export function compareSchemas(recorded: InputSchema, live: InputSchema): string[] {
  const names = [...new Set([...Object.keys(live.fields), ...Object.keys(recorded.fields)])].sort();
  return names.flatMap((name) => {
    const before = recorded.fields[name];
    const now = live.fields[name];
    if (!now) return [`${name} is gone`];
    if (!before) return [`${name} is new (${describeField(now)})`];
    const changes = sameValues(before, now)
      ? []
      : [`${name} takes ${describeField(now)}, recorded is ${describeField(before)}`];
    const required = live.required.includes(name);
    if (required !== recorded.required.includes(name))
      changes.push(`${name} is ${required ? "now" : "no longer"} required`);
    return changes;
  });
}

function sameValues(a: FieldSchema, b: FieldSchema): boolean {
  return JSON.stringify(valuesOf(a)) === JSON.stringify(valuesOf(b));
}

function valuesOf({ type, format, enum: values, minimum, maximum, maxItems, items }: FieldSchema) {
  const sorted = values === undefined ? null : [...values].map((one) => JSON.stringify(one)).sort();
  return [type, format, sorted, minimum, maximum, maxItems, items?.type, items?.format];
}
