/** What a row and its model's published schema do not agree on, and what to do about it. */
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

/** What was seen, for people; notes do not fail the check. */
export type Note = { step: string; model: string; text: string };

export function noteLine({ step, model, text }: Note): string {
  return `${step === "" ? "" : `${step}  `}${model}: ${text}`;
}

/** A finding without the row it is about. */
export type Complaint = Omit<Finding, "step" | "model">;
