import type postgres from "postgres";

/** The result of one statement: its rows, or how many it changed. */
type StatementResult = { command: string; count: number; columns: string[]; rows: Record<string, unknown>[] };

/** Runs all statements of a text in one go, as Studio's SQL editor does: when one fails, none has happened. */
export async function runStatements(
  sql: postgres.Sql | postgres.TransactionSql,
  text: string,
): Promise<StatementResult[]> {
  const given: unknown = await sql.unsafe(text).simple();
  // Several statements give a list of results, one gives its own.
  const results = (Array.isArray((given as unknown[])[0]) ? given : [given]) as postgres.RowList<postgres.Row[]>[];
  return results.map((rows) => ({
    command: rows.command ?? "",
    count: rows.count ?? 0,
    columns: (rows.columns ?? []).map(({ name }) => name),
    rows: [...rows],
  }));
}

/** A table for each statement that has columns. Of the statements between them it gives the last one's command and count. */
export const describeResults = (results: StatementResult[], width: number): string =>
  results
    .map(({ command, count, columns, rows }) =>
      columns.length === 0
        ? `${command} ${count}`
        : `${describeTable(columns, rows, width)}\n${rows.length} ${rows.length === 1 ? "row" : "rows"}`,
    )
    .join("\n\n");

/** Draws a table or, if that is too wide, a list of fields for each row. */
function describeTable(columns: string[], rows: Record<string, unknown>[], width: number): string {
  const lines = [columns, ...rows.map((row) => columns.map((name) => describeValue(row[name])))];
  const widths = widthsOf(lines);
  if (widths.reduce((sum, one) => sum + one + 3, 0) > width) {
    const longest = Math.max(...columns.map(({ length }) => length));
    const body = lines.slice(1);
    return body
      .map((line) => line.map((cell, at) => `${columns[at]?.padEnd(longest)} | ${cell}\n`).join(""))
      .join("\n");
  }
  const [head, ...body] = alignColumns(lines, " | ");
  return [head, widths.map((one) => "-".repeat(one)).join("-+-"), ...body].join("\n");
}

const widthsOf = (lines: string[][]): number[] =>
  (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));

/** Each line as text, with cells as wide as the widest of their column. */
export function alignColumns(lines: string[][], between: string): string[] {
  const widths = widthsOf(lines);
  const draw = (line: string[]) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(between);
  return lines.map((line) => draw(line).trimEnd());
}

/** The value in one line. */
function describeValue(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  return (typeof value === "object" ? JSON.stringify(value) : String(value)).replaceAll("\n", "\\n");
}
