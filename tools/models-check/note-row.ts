import type { FieldSchema, InputSchema } from "../../local/simulator/model-schemas.ts";
import { describedMost } from "./check-limits.ts";
import type { ModelRow } from "./model-row.ts";
import { noteRules } from "./note-rules.ts";

const namesLastFrame = /(^|_)(last|end|final|tail)(_|$)/;

/** What somebody should know of a row that is not wrong. */
export function noteRow(row: ModelRow, schema: InputSchema): string[] {
  return [...lastFrames(row, schema), ...unlimited(row, schema), ...deprecated(row, schema), ...noteRules(row, schema)];
}

function lastFrames(row: ModelRow, { fields }: InputSchema): string[] {
  if (row.step !== "video" || row.last_frame_field !== null) return [];
  const found = Object.entries(fields).filter(([name, field]) => field.format === "uri" && namesLastFrame.test(name));
  return found.map(([name]) => `last_frame_field is null, although the model has ${name}: does it take a last frame?`);
}

function unlimited(row: ModelRow, { fields }: InputSchema): string[] {
  const field: FieldSchema | undefined = row.reference_field === null ? undefined : fields[row.reference_field];
  if (field?.type !== "array" || field.maxItems !== undefined || describedMost(field) !== null) return [];
  return [
    `the schema gives no number for ${row.reference_field}; max_references ${row.max_references} is not checked.`,
  ];
}

function deprecated(row: ModelRow, { fields }: InputSchema): string[] {
  const used = [row.prompt_field, row.reference_field, row.first_frame_field, row.last_frame_field, row.duration_field];
  return [...used, ...Object.keys(row.extras), ...Object.keys(row.last_frame_extras)].flatMap((name) => {
    const field = name === null ? undefined : fields[name];
    return field?.deprecated ? [`${name} is deprecated by the model.`] : [];
  });
}
