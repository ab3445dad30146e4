import postgres from "postgres";
import { z } from "zod";
import { oneLine } from "../../local/stack/command-line.ts";
import { CheckFailed } from "./check-failed.ts";
import { type ModelRow, modelColumns, modelRow } from "./model-row.ts";

/** Reads the rows over a connection string. Throws CheckFailed, without the address: it may hold a password. */
export async function rowsFromDatabase(databaseUrl: string): Promise<ModelRow[]> {
  const sql = postgres(databaseUrl, { max: 1, connect_timeout: 15, onnotice: () => undefined });
  try {
    const rows = await sql`
      select ${sql(modelColumns)} from keyframe.models order by step, is_default desc, model`;
    return z.array(modelRow).parse([...rows]);
  } catch (error) {
    throw new CheckFailed(`models cannot be read from the database: ${oneLine(error)}`);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
