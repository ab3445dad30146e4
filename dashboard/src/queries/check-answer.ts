import { KeyframeError } from "../../../client/index.ts";

const CHECKS = {
  text: (value: unknown) => typeof value === "string",
  texts: (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  list: (value: unknown) => Array.isArray(value),
};
type Fields = Record<string, keyof typeof CHECKS>;
type Types = { text: string; texts: string[]; list: unknown[] };
type Checked<Of extends Fields> = { [Name in keyof Of]: Types[Of[Name]] };

/** An object from `callPlatform`, whose answers have no type. Throws if a field is missing or of another kind. */
export function checkObject<Of extends Fields>(answer: unknown, fields: Of): Checked<Of> {
  const object: Record<string, unknown> = Object(answer);
  for (const [name, kind] of Object.entries(fields))
    if (!CHECKS[kind](object[name]))
      throw new KeyframeError("internal", `The service's answer has no valid “${name}”.`);
  return object as Checked<Of>; // checked above
}

/** Rows of the Data API, checked like `checkObject`. */
export function checkRows<Of extends Fields>(answer: unknown, columns: Of): Checked<Of>[] {
  const { rows } = checkObject({ rows: answer }, { rows: "list" });
  return rows.map((row) => checkObject(row, columns));
}
