import { join } from "node:path";
import postgres from "postgres";
import { installExtensions } from "../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../local/platform/bootstrap-platform.ts";
import { startPostgres } from "../local/postgres/start-postgres.ts";
import { removeData } from "../local/stack/data-folder.ts";

/** Runs `work` on a Postgres of its own, with what Supabase has in it and without migrations. It is removed afterwards. */
export async function onThrowAwayDatabase<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-database-" });
  try {
    const server = await startPostgres({ dataDir: join(folder, "postgres"), durable: false });
    const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
    try {
      await bootstrapPlatform(sql);
      await installExtensions(sql, { useReal: false });
      return await work(sql);
    } finally {
      await sql.end({ timeout: 1 });
      await server.stop();
    }
  } finally {
    await removeData(folder);
  }
}
