import { compareMigrations } from "./compare-migrations.ts";
import { DeployError } from "./deploy-error.ts";
import { readDatabase, readIdentity } from "./read-database.ts";
import { migrationDigest, readMigrations } from "./read-migrations.ts";
import type { Deployment, Step } from "./step.ts";

/** The database is the named project's, and its migrations are the first of this checkout's, statement for statement. */
export const databaseStep: Step = {
  name: "Database",
  plan: async (deployment) => {
    const [local, database] = await Promise.all([readMigrations(), readDatabase(deployment.cli)]);
    deployment.found.database = database;
    await refuseOtherDatabase(deployment, database.identity);
    const files = await Promise.all(
      local.map(async ({ version, text }) => [version, await migrationDigest(text)] as const),
    );
    const { unknown, tooLate, changed } = compareMigrations(new Map(files), database.migrations);
    if (unknown.length > 0) throw disagreement(`has migrations that this checkout lacks (${unknown.join(", ")})`);
    if (changed.length > 0) {
      const names = local.filter(({ version }) => changed.includes(version)).map(({ file }) => file);
      throw disagreement(`was made by other statements than this checkout's (${names.join(", ")})`);
    }
    if (tooLate.length > 0) throw disagreement(`lacks migrations older than its newest (${tooLate.join(", ")})`);
    return { says: `${database.migrations.size} of ${local.length} migrations applied, as they are here` };
  },
};

/** Everything else goes to the named project, so the migrations must as well. */
async function refuseOtherDatabase({ cli, settings }: Deployment, identity: string): Promise<void> {
  const { database, project } = settings;
  if (database === undefined || database.isNamed || (await readIdentity(cli, database)) === identity) return;
  throw new DeployError(
    `SUPABASE_DB_URL leads to another database than that of the project ${project}: the migrations would go there. Take the connection string from the project's page (Connect), or leave SUPABASE_DB_URL out.`,
  );
}

function disagreement(what: string): DeployError {
  return new DeployError(
    `The database ${what}. Is it this project's, and is the checkout up to date? docs/upgrade.md says what to do.`,
  );
}
