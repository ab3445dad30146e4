import { DeployError } from "./deploy-error.ts";
import { readDatabase } from "./read-database.ts";
import { readMigrations } from "./read-migrations.ts";
import type { Step } from "./step.ts";

/** One that waits for a lock or builds an index takes its time. */
const LIMIT_MS = 30 * 60_000;

/** The project's database gets the migrations it lacks, each in a transaction of its own. */
export const migrationsStep: Step = {
  name: "Migrations",
  plan: async ({ cli, settings, found }) => {
    const local = await readMigrations();
    const lacking = () => local.filter(({ version }) => !found.database?.migrations.has(version));
    const pending = lacking().map(({ file }) => file);
    if (pending.length === 0) return { says: `all ${local.length} are there` };
    return {
      says: `${pending.length} of ${local.length} to apply`,
      more: pending,
      apply: async () => {
        const at = settings.database;
        await cli.run("applying the migrations", ["db", "push", "--yes"], { limitMs: LIMIT_MS, ...(at && { at }) });
        found.database = await readDatabase(cli);
        const missing = lacking().map(({ file }) => file);
        if (missing.length === 0) return "applied";
        throw new DeployError(
          `The Supabase CLI applied the migrations, but the database of ${settings.project} does not have ${missing.join(", ")}. Look at \`npx supabase migration list --remote=${settings.project}\`${at ? ", and whether SUPABASE_DB_URL is this project's" : ""}.`,
        );
      },
    };
  },
};
