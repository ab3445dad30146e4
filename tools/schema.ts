// npm run schema: writes docs/schema.sql anew, from a throw-away Postgres with all migrations.
import { join } from "node:path";
import postgres from "postgres";
import { installExtensions } from "../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../local/platform/bootstrap-platform.ts";
import { startPostgres } from "../local/postgres/start-postgres.ts";
import { applyMigrations } from "../local/stack/apply-migrations.ts";
import { describeSchema } from "./describe-schema.ts";

const folder = await Deno.makeTempDir({ prefix: "keyframe-schema-" });
const server = await startPostgres({ dataDir: join(folder, "data"), durable: false });
const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
try {
  await bootstrapPlatform(sql);
  await installExtensions(sql, { useReal: false });
  await applyMigrations(server.url, join(folder, "cli-home"));
  const file = new URL("../docs/schema.sql", import.meta.url);
  await Deno.writeTextFile(file, await describeSchema(sql));
  console.log(`${file.pathname} is current.`);
} finally {
  await sql.end();
  await server.stop();
  await Deno.remove(folder, { recursive: true });
}
