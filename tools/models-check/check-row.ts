import { compileField } from "../../local/simulator/check-input.ts";
import type { FieldSchema, InputSchema } from "../../local/simulator/model-schemas.ts";
import type { ModelRow } from "./read-rows.ts";

/** A difference between a row and its model's published schema, and what to do. */
export type Finding = {
  step: string;
  model: string;
  column: string;
  row: string;
  schema: string;
  todo: string;
};

/** A finding in one line. */
export function findingLine({ step, model, column, row, schema, todo }: Finding): string {
  return `${step}  ${model}  ${column}: the row says ${row}; the schema says ${schema}. ${todo}`;
}

/** A finding without the row it is about. */
type Complaint = Omit<Finding, "step" | "model">;

/** Every difference between a row and its model's published input. */
export function checkRow(row: ModelRow, schema: InputSchema): Finding[] {
  const complaints = [
    ...checkMapping(row, schema),
    ...checkOverlaps(row),
    ...checkReferences(row, schema),
    ...checkDurations(row, schema),
    ...checkExtras(row, schema),
    ...checkRequired(row, schema),
  ];
  return complaints.map((complaint) => ({ step: row.step, model: row.model, ...complaint }));
}

type Mapping = { column: string; field: string; fits: (field: FieldSchema) => boolean; needs: string };

const isFile = ({ type, format }: FieldSchema) => type === "string" && format === "uri";
const isFileList = ({ type, items }: FieldSchema) =>
  type === "array" && items?.type === "string" && items.format === "uri";
const isText = ({ type, format, enum: values }: FieldSchema) => type === "string" && format === undefined && !values;
const isNumber = ({ type, enum: values }: FieldSchema) =>
  type === "integer" ||
  type === "number" ||
  (type === undefined && (values ?? []).some((one) => typeof one === "number"));

/** Checks that each field that the row names exists and accepts what is sent in it. */
function checkMapping(row: ModelRow, schema: InputSchema): Complaint[] {
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

/** Which column sends into which field, without the extras. */
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

/** Fields that two columns fill: one of the two values would be lost. */
function checkOverlaps(row: ModelRow): Complaint[] {
  const filledBy = new Map<string, string[]>();
  const fill = (field: string, column: string) => filledBy.set(field, [...(filledBy.get(field) ?? []), column]);
  for (const { column, field } of mappings(row)) fill(field, column);
  for (const field of Object.keys(row.extras)) fill(field, "extras");
  for (const field of Object.keys(row.last_frame_extras)) {
    // last_frame_extras may override extras.
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

/** Checks that the model accepts each duration of the row. */
function checkDurations(row: ModelRow, schema: InputSchema): Complaint[] {
  const field = row.duration_field === null ? undefined : schema.fields[row.duration_field];
  // That the field is text is already reported; "5" still allows 5.
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

/** Checks that the model accepts as many references as the row offers, by its schema or else its description. */
function checkReferences(row: ModelRow, schema: InputSchema): Complaint[] {
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
 * How many files a list accepts, by its description ("up to 14 images", "Maximum 8 images", "List of 1-10 images", "1
 * to 3 reference images"), which is the only text in which some models state it. Null when it has no number.
 */
function describedMost({ description }: FieldSchema): number | null {
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

/** Checks that the model has every field of the extras and accepts its value. */
function checkExtras(row: ModelRow, schema: InputSchema): Complaint[] {
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

/** Checks that every required field is always sent. */
function checkRequired(row: ModelRow, schema: InputSchema): Complaint[] {
  const sent = new Set([row.prompt_field, ...Object.keys(row.extras)]);
  // A video always has a first frame; the default duration is the first one offered.
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

/** What a field accepts, in a few words: `one of 5, 10`, `an integer from 3 to 15`, `a list of files`. */
function describeField(field: FieldSchema): string {
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
