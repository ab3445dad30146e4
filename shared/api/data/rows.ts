import { z } from "zod";

const camelCase = (column: string) => column.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A column's value. A time of Postgres becomes ISO 8601 in UTC with milliseconds. */
const fieldValue = (column: string, value: unknown) =>
  /_(at|since)$/.test(column) && typeof value === "string" ? new Date(value).toISOString() : value;

/**
 * Parses a row as fields of the contract: `text_prompt` is textPrompt. The columns also keep their own names, because a cursor needs
 * created_at with its microseconds.
 */
export const fromRow = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((row) => {
    if (row === null || typeof row !== "object") return row;
    const fields = Object.entries(row).map(([column, value]) => [camelCase(column), fieldValue(column, value)]);
    return { ...row, ...Object.fromEntries(fields) };
  }, schema);

const snakeCase = (field: string) => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Fields of the contract as arguments of a SQL function, or as columns: `textPrompt` is text_prompt. */
export const toRow = (fields: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [snakeCase(name), value]));

/** The fields by which a cursor identifies a row. `created_at` keeps the format of Postgres. */
export const position = { id: z.string(), created_at: z.iso.datetime({ offset: true }) };
