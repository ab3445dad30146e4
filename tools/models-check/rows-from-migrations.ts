import { join } from "node:path";
import postgres from "postgres";
import { installExtensions } from "../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../local/platform/bootstrap-platform.ts";
import { startPostgres } from "../../local/postgres/start-postgres.ts";
import { applyMigrations } from "../../local/stack/apply-migrations.ts";
import { removeData } from "../../local/stack/data-folder.ts";
import type { ModelRow } from "./model-row.ts";
import { rowsFromDatabase } from "./rows-from-database.ts";

/** Reads the rows that this repository's migrations ship, from a Postgres that is thrown away again, also when `signal` ends it. */
export async function rowsFromMigrations(signal: AbortSignal): Promise<ModelRow[]> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-models-check-" });
  const server = await startPostgres({ dataDir: join(folder, "postgres"), durable: false });
  try {
    signal.throwIfAborted();
    const postgresPassword = crypto.randomUUID();
    const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
    try {
      await bootstrapPlatform(sql, { postgresPassword });
      await installExtensions(sql, { useReal: false });
    } finally {
      await sql.end({ timeout: 1 });
    }
    const url = new URL(server.url);
    url.username = "postgres";
    url.password = postgresPassword;
    await applyMigrations(url.href, join(folder, "cli-home"), signal);
    return await rowsFromDatabase(url.href);
  } finally {
    await server.stop();
    await removeData(folder);
  }
}
