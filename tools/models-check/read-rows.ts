import { abortable } from "./abortable.ts";
import { CheckFailed } from "./check-failed.ts";
import type { ModelRow } from "./model-row.ts";
import { rowsFromDatabase } from "./rows-from-database.ts";
import { rowsFromMigrations } from "./rows-from-migrations.ts";
import { rowsFromProject } from "./rows-from-project.ts";

/** Whose `models` is checked. */
export type RowSource =
  | { from: "migrations" }
  | { from: "database"; databaseUrl: string }
  | { from: "project"; url: string; secretKey: string };

/** Reads the rows. Throws CheckFailed when they cannot be read, or there are none: nothing would have been checked. */
export async function readRows(source: RowSource, signal: AbortSignal): Promise<ModelRow[]> {
  const rows = await read(source, signal);
  if (rows.length === 0) throw new CheckFailed(`models has no rows in ${nameRows(source)}.`);
  return rows;
}

function read(source: RowSource, signal: AbortSignal): Promise<ModelRow[]> {
  switch (source.from) {
    case "migrations":
      return rowsFromMigrations(signal);
    case "database":
      return rowsFromDatabase(source.databaseUrl);
    case "project":
      return rowsFromProject(source.url, source.secretKey, abortable(signal));
  }
}

/** Where the rows are from, without passwords and keys. */
export function nameRows(source: RowSource): string {
  switch (source.from) {
    case "migrations":
      return "this repository's migrations";
    case "database":
      return `the database at ${new URL(source.databaseUrl).host}`;
    case "project":
      return `the project ${source.url}`;
  }
}
