import { z } from "zod";

const camelCase = (column: string) => column.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A column's value; a time of Postgres as ISO 8601 in UTC with milliseconds. */
const fieldValue = (column: string, value: unknown) =>
  /_(at|since)$/.test(column) && typeof value === "string" ? new Date(value).toISOString() : value;

/**
 * Parses a row as fields of the contract: `text_prompt` is textPrompt. The columns keep their names beside them, because a cursor needs
 * created_at with its microseconds.
 */
export const fromRow = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((row) => {
    if (row === null || typeof row !== "object") return row;
    const fields = Object.entries(row).map(([column, value]) => [camelCase(column), fieldValue(column, value)]);
    return { ...row, ...Object.fromEntries(fields) };
  }, schema);

/** What a cursor names a row by. `created_at` keeps the format of Postgres. */
export const position = { id: z.string(), created_at: z.iso.datetime({ offset: true }) };
