import { compileField } from "../../local/simulator/check-input.ts";
import type { FieldSchema, InputSchema } from "../../local/simulator/model-schemas.ts";
import { describeField } from "./describe-field.ts";
import type { Complaint } from "./finding.ts";
import type { ModelRow } from "./model-row.ts";

/** Whether the model takes each duration that the row offers. */
export function checkDurations(row: ModelRow, schema: InputSchema): Complaint[] {
  const field = row.duration_field === null ? undefined : schema.fields[row.duration_field];
  // Text instead of a number is a finding of the field itself; "5" still allows 5.
  const byText = field?.type === "string" && field.enum !== undefined;
  if (!field || (field.type === "string" && !byText)) return [];
  const accepts = compileField(field);
  const refused = row.durations.filter((seconds) => !accepts(byText ? String(seconds) : seconds));
  if (refused.length === 0) return [];
  const todo = `Take ${refused.join(", ")} out of durations.`;
  return [
    {
      column: "durations",
      row: refused.join(", "),
      schema: `${row.duration_field} takes ${describeField(field)}`,
      todo,
    },
  ];
}

/** Whether the model takes as many references as the row offers, by its schema or else by what its description says. */
export function checkReferences(row: ModelRow, schema: InputSchema): Complaint[] {
  const field = row.reference_field === null ? undefined : schema.fields[row.reference_field];
  if (field?.type !== "array") return [];
  const most = field.maxItems ?? describedMost(field);
  if (most === null || row.max_references <= most) return [];
  const said = field.maxItems === undefined ? `"${field.description}"` : describeField(field);
  return [
    {
      column: "max_references",
      row: String(row.max_references),
      schema: `${row.reference_field}: ${said}`,
      todo: `Set max_references to ${most}.`,
    },
  ];
}

/**
 * How many files a list takes by its description ("up to 14 images", "Maximum 8 images", "List of 1-10 images",
 * "1 to 3 reference images"): the provider publishes the number nowhere else. Null when it gives none.
 */
export function describedMost({ description }: FieldSchema): number | null {
  const patterns = [
    /\b(?:up to|max(?:imum)?(?: of)?|at most)\s+(\d+)\b/i,
    /\b\d+\s*(?:-|–|to)\s*(\d+)\s+(?:\w+\s+)?(?:images|files)\b/i,
  ];
  for (const pattern of patterns) {
    const found = pattern.exec(description ?? "");
    if (found) return Number(found[1]);
  }
  return null;
}
