import { compileField } from "../../local/simulator/check-input.ts";
import type { InputSchema } from "../../local/simulator/model-schemas.ts";
import { describeField } from "./describe-field.ts";
import type { Complaint } from "./finding.ts";
import type { ModelRow } from "./model-row.ts";

/** Whether the model has every field of the extras and takes its value. */
export function checkExtras(row: ModelRow, schema: InputSchema): Complaint[] {
  return (["extras", "last_frame_extras"] as const).flatMap((column) =>
    Object.entries(row[column]).flatMap(([name, value]): Complaint[] => {
      const says = JSON.stringify({ [name]: value });
      const field = schema.fields[name];
      if (!field) {
        const fields = Object.keys(schema.fields).join(", ");
        return [
          {
            column,
            row: says,
            schema: `there is no field ${name}`,
            todo: `Take it out. The model's fields: ${fields}.`,
          },
        ];
      }
      if (compileField(field)(value)) return [];
      return [
        {
          column,
          row: says,
          schema: `${name} takes ${describeField(field)}`,
          todo: "Change the value or take it out.",
        },
      ];
    }),
  );
}

/** Whether every field that the model demands is one that is always sent. */
export function checkRequired(row: ModelRow, schema: InputSchema): Complaint[] {
  const sent = new Set([row.prompt_field, ...Object.keys(row.extras)]);
  // A video always starts from a first frame; a duration is the first one offered when none is asked for.
  if (row.step === "video" && row.first_frame_field !== null) sent.add(row.first_frame_field);
  if (row.duration_field !== null && row.durations.length > 0) sent.add(row.duration_field);
  return schema.required
    .filter((name) => !sent.has(name))
    .map((name) => ({
      column: "extras",
      row: `nothing that always fills ${name}`,
      schema: `${name} is required`,
      todo: requiredHint(row, name),
    }));
}

function requiredHint(row: ModelRow, name: string): string {
  if (name === row.reference_field)
    return "The model makes nothing without a reference image, which is optional here: it cannot serve this step.";
  if (name === row.last_frame_field)
    return "The model makes nothing without a last frame, which is optional here: it cannot serve this step.";
  return `Map it, or give it a fixed value in extras: {"${name}": …}.`;
}
