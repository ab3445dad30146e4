import type { FieldSchema, InputSchema } from "../../local/simulator/model-schemas.ts";
import { describeField } from "./describe-field.ts";
import type { Complaint } from "./finding.ts";
import type { ModelRow } from "./model-row.ts";

type Mapping = { column: string; field: string; fits: (field: FieldSchema) => boolean; needs: string };

const isFile = ({ type, format }: FieldSchema) => type === "string" && format === "uri";
const isFileList = ({ type, items }: FieldSchema) =>
  type === "array" && items?.type === "string" && items.format === "uri";
const isText = ({ type, format, enum: values }: FieldSchema) => type === "string" && format === undefined && !values;
const isNumber = ({ type, enum: values }: FieldSchema) =>
  type === "integer" ||
  type === "number" ||
  (type === undefined && (values ?? []).some((one) => typeof one === "number"));

/** Whether each field that the row names is one of the model's, and takes what is sent in it. */
export function checkMapping(row: ModelRow, schema: InputSchema): Complaint[] {
  return mappings(row).flatMap(({ column, field, fits, needs }): Complaint[] => {
    const known = schema.fields[field];
    const says = `"${field}"`;
    if (!known) {
      const candidates = Object.entries(schema.fields).filter(([, one]) => fits(one));
      const names = candidates.map(([name]) => name).join(", ");
      const hint = names === "" ? `No field takes ${needs}.` : `Fields that take ${needs}: ${names}.`;
      return [{ column, row: says, schema: "there is no such field", todo: `Name one of the model's fields. ${hint}` }];
    }
    if (fits(known)) return [];
    return [
      {
        column,
        row: says,
        schema: `${field} takes ${describeField(known)}`,
        todo: `It has to take ${needs}.${listHint(column, known)}`,
      },
    ];
  });
}

/** What the row sends in which field, without the extras. */
function mappings(row: ModelRow): Mapping[] {
  const files = { fits: isFile, needs: "one file" };
  const references = row.reference_is_list ? { fits: isFileList, needs: "a list of files" } : files;
  const all = [
    { column: "prompt_field", field: row.prompt_field, fits: isText, needs: "text" },
    { column: "reference_field", field: row.reference_field, ...references },
    { column: "first_frame_field", field: row.first_frame_field, ...files },
    { column: "last_frame_field", field: row.last_frame_field, ...files },
    { column: "duration_field", field: row.duration_field, fits: isNumber, needs: "a number of seconds" },
  ];
  return all.flatMap(({ field, ...rest }) => (field === null ? [] : [{ ...rest, field }]));
}

function listHint(column: string, field: FieldSchema): string {
  if (column !== "reference_field") return "";
  if (isFileList(field)) return " Set reference_is_list to true.";
  return isFile(field) ? " Set reference_is_list to false and max_references to 1." : "";
}

/** Fields that more than one part of the row fills: one of the two would not arrive. */
export function checkOverlaps(row: ModelRow): Complaint[] {
  const filledBy = new Map<string, string[]>();
  const fill = (field: string, column: string) => filledBy.set(field, [...(filledBy.get(field) ?? []), column]);
  for (const { column, field } of mappings(row)) fill(field, column);
  for (const field of Object.keys(row.extras)) fill(field, "extras");
  for (const field of Object.keys(row.last_frame_extras)) {
    // The last frame's extras may stand in for the others: that is what they are for.
    if (!(filledBy.get(field) ?? []).every((column) => column === "extras")) fill(field, "last_frame_extras");
  }
  return [...filledBy]
    .filter(([, columns]) => columns.length > 1)
    .map(([field, columns]) => ({
      column: columns.join(" and "),
      row: `both fill "${field}"`,
      schema: `${field} takes one value`,
      todo: "Leave one of them out.",
    }));
}
