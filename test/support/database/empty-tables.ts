import type postgres from "postgres";

/** Deletes all rows without the triggers, and the work of predictions with them. `truncate` makes new files for each table and each index. */
export async function emptyTables(sql: postgres.Sql, tables: string): Promise<void> {
  const deletions = tables.split(",").map((table) => `delete from ${table}`);
  if (/\bpredictions\b/.test(tables)) deletions.push("delete from keyframe_private.work where queue <> 'deliver'");
  // Sent as one text, which Postgres does in one transaction.
  await sql.unsafe(["set local session_replication_role = replica", ...deletions].join("; "));
}

/** Empties what predictions leave, but for their sums of costs and their events; and these tables of keyframe_private. */
export const clearPredictions = (sql: postgres.Sql, ...others: string[]): Promise<void> =>
  emptyTables(
    sql,
    [
      "keyframe.predictions",
      ...["prediction_images", "provider_submits", "file_removals", ...others].map(inPrivate),
    ].join(),
  );
const inPrivate = (table: string) => `keyframe_private.${table}`;
