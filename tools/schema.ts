import { join } from "node:path";
import { parseOptions, runMain } from "../local/stack/command-line.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { readMigrations } from "../local/stack/read-migrations.ts";
import { describeRights } from "./describe-rights.ts";
import { describeSchema } from "./describe-schema.ts";
import { othersThanRelease, releaseMigration } from "./release-migration.ts";
import { onThrowAwayDatabase } from "./throw-away-database.ts";

const HELP = `npm run schema   writes the version's last migration and docs/schema.sql anew, after a change of the migrations

It reads the schema from a throw-away Postgres. It has no options.`;

async function main(): Promise<number> {
  parseOptions({ args: Deno.args });
  const read = (path: string) => Deno.readTextFile(join(PROJECT_ROOT, path));
  const { version } = JSON.parse(await read("package.json")) as { version: string };
  const migrations = await readMigrations();

  await onThrowAwayDatabase(async (sql) => {
    for (const { text } of othersThanRelease(migrations, version)) await sql.begin((each) => each.unsafe(text));
    const release = releaseMigration(migrations, version, await read("CHANGELOG.md"), await describeRights(sql));
    for (const file of release.replaced) await Deno.remove(join(PROJECT_ROOT, "supabase/migrations", file));
    await Deno.writeTextFile(join(PROJECT_ROOT, "supabase/migrations", release.file), release.text);
    await Deno.writeTextFile(
      join(PROJECT_ROOT, "shared/platform/schema-version.ts"),
      `// Made by \`npm run schema\`.
/** The version of the migrations that the functions need, as in keyframe_private.installation. */
export const SCHEMA_VERSION = "${version}";
`,
    );

    await sql.begin((last) => last.unsafe(release.text));
    const file = new URL("../docs/schema.sql", import.meta.url);
    await Deno.writeTextFile(file, await describeSchema(sql));
    console.log(`${file.pathname} is current.`);
  });
  return 0;
}

runMain(HELP, main);
