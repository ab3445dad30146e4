import type { Schema } from "./open-api.ts";

/** The limits of a value, each in words. A pattern is left out where a format says the same better. */
export function limitsOf(schema: Schema): string[] {
  const { exclusiveMinimum, exclusiveMaximum, format, pattern } = schema;
  return [
    range(bound(schema.minimum), bound(schema.maximum), ""),
    exclusiveMinimum === undefined ? null : `more than ${exclusiveMinimum}`,
    exclusiveMaximum === undefined ? null : `less than ${exclusiveMaximum}`,
    range(schema.minLength || undefined, schema.maxLength, " characters"),
    range(schema.minItems || undefined, schema.maxItems, " items"),
    range(schema.minProperties || undefined, undefined, " fields"),
    pattern === undefined || format !== undefined ? null : `matches ${pattern}`,
  ].filter((limit) => limit !== null);
}

/** The largest whole number that is exact says no more than "integer". */
const bound = (value: number | undefined) =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;

function range(least: number | undefined, most: number | undefined, unit: string): string | null {
  if (least === undefined) return most === undefined ? null : `at most ${most}${unit}`;
  if (most === undefined) return `at least ${least}${unit}`;
  return least === most ? `exactly ${most}${unit}` : `${least} to ${most}${unit}`;
}
