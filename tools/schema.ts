// npm run schema: writes the version's last migration and docs/schema.sql anew, the latter from a throw-away Postgres.
import { join } from "node:path";
import postgres from "postgres";
import { installExtensions } from "../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../local/platform/bootstrap-platform.ts";
import { startPostgres } from "../local/postgres/start-postgres.ts";
import { applyMigrations } from "../local/stack/apply-migrations.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { readMigrations } from "../local/stack/read-migrations.ts";
import { describeSchema } from "./describe-schema.ts";
import { releaseMigration } from "./release-migration.ts";

const read = (path: string) => Deno.readTextFile(join(PROJECT_ROOT, path));
const { version } = JSON.parse(await read("package.json")) as { version: string };
const release = await releaseMigration(await readMigrations(), version, await read("CHANGELOG.md"));
for (const file of release.replaced) await Deno.remove(join(PROJECT_ROOT, "supabase/migrations", file));
await Deno.writeTextFile(join(PROJECT_ROOT, "supabase/migrations", release.file), release.text);
await Deno.writeTextFile(
  join(PROJECT_ROOT, "shared/platform/schema-version.ts"),
  `// Made by \`npm run schema\`.
/** The version of the migrations that the functions need, as in keyframe_private.installation. */
export const SCHEMA_VERSION = "${version}";
`,
);

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
