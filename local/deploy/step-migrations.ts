import { compareMigrations } from "./compare-migrations.ts";
import { DeployError } from "./deploy-error.ts";
import { readDatabase } from "./read-database.ts";
import { readMigrations } from "./read-migrations.ts";
import type { Deployment, Step } from "./step.ts";

/** The project's database gets the migrations it lacks, each in a transaction of its own. */
export const migrationsStep: Step = {
  name: "Migrations",
  plan: async (deployment) => {
    const { cli, found } = deployment;
    const [local, database] = await Promise.all([readMigrations(), readDatabase(cli)]);
    found.database = database;
    const { pending, unknown, tooLate } = compareMigrations(
      local.map(({ version }) => version),
      database.migrations,
    );
    if (unknown.length > 0) throw disagreement(`has migrations that this checkout lacks (${unknown.join(", ")})`);
    if (tooLate.length > 0) throw disagreement(`lacks migrations older than its newest (${tooLate.join(", ")})`);
    if (pending.length === 0) return { says: `all ${local.length} are there` };
    return {
      says: `${pending.length} of ${local.length} to apply`,
      more: local.filter(({ version }) => pending.includes(version)).map(({ file }) => file),
      apply: async () => {
        await push(deployment);
        found.database = await readDatabase(cli);
        return "applied";
      },
    };
  },
};

function disagreement(what: string): DeployError {
  return new DeployError(
    `The database ${what}. Is it this project's, and is the checkout up to date? docs/upgrade.md says what to do.`,
  );
}

async function push({ cli, settings, keeper }: Deployment): Promise<void> {
  const doing = "applying the migrations";
  if (settings.databaseUrl === undefined) {
    await cli.run(doing, ["db", "push", "--yes"]);
    return;
  }
  const url = new URL(settings.databaseUrl);
  const password = keeper.add(decodeURIComponent(url.password));
  url.password = "";
  // By its environment: everybody on the machine can read a command line.
  const env = password === "" ? {} : { PGPASSWORD: password };
  await cli.run(doing, ["db", "push", "--yes", `--remote=${url.href}`], { env });
}
