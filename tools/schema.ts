import { parseOptions, runMain } from "../command-line/run-main.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { writeVersionMigration } from "./version-migration.ts";

const HELP = `npm run schema   writes the migration of the version in package.json, after a change in supabase/schemas

While no version is released, the migration is all of supabase/schemas. For a version after a release it begins the migration, in
which you write what changes, and keeps its end current. It has no options.`;

async function main(): Promise<number> {
  parseOptions({ args: Deno.args });
  const file = await writeVersionMigration(PROJECT_ROOT, new Date());
  console.log(`supabase/migrations/${file} is current.`);
  return 0;
}

runMain(HELP, main);
