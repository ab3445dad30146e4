import { z } from "zod";
import { webhookSecret } from "../../shared/platform/environment.ts";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { SCHEMA_VERSION } from "../../shared/platform/schema-version.ts";
import { type DatabaseState, readDatabase, readIdentity } from "./database-state.ts";
import { readVersions } from "./function-stages.ts";
import { compareMigrations, migrationDigest } from "./migrations.ts";
import { DeployError } from "./reporting.ts";
import type { Deployment, Stage } from "./stage.ts";

const listed = z.object({
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  target: z.object({ project_name: z.string().optional() }).optional(),
});

/** Checks the login and the project, and reads which secrets its functions have (as SHA-256). */
export const projectStage: Stage = {
  name: "Project",
  plan: async ({ cli, found, settings }) => {
    const { secrets, target } = await cli.read("looking at the project", ["secrets", "list"], listed);
    for (const { name, value } of secrets) found.secretDigests.set(name, value);
    const name = target?.project_name;
    return { says: `${name === undefined ? "" : `${name}, `}${settings.projectUrl}` };
  },
};

const TIMEOUT_MS = 20_000;
const TOKENS_PAGE = "https://replicate.com/account/api-tokens";
const keyed = z.object({ key: webhookSecret });

/** Checks the token and fetches the secret that signs Replicate's callbacks. */
export const replicateStage: Stage = {
  name: "Replicate",
  plan: async (deployment) => {
    const { settings, found, keeper, progress } = deployment;
    if (settings.replicate.token === undefined) {
      const { secretDigests } = found;
      if (secretDigests.has("KEYFRAME_REPLICATE_API_TOKEN") && secretDigests.has("KEYFRAME_REPLICATE_WEBHOOK_SECRET")) {
        return { says: "the project keeps its token (KEYFRAME_REPLICATE_API_TOKEN is not set here)" };
      }
      throw new DeployError(
        `Set KEYFRAME_REPLICATE_API_TOKEN: make a token at ${TOKENS_PAGE} and run the command again.`,
      );
    }
    found.signingSecret = keeper.add(
      await progress.during("asking Replicate", fetchSigningSecret(deployment, settings.replicate.token)),
    );
    return { says: "the token is accepted, its signing secret is known" };
  },
};

async function fetchSigningSecret({ settings, fetch, clock }: Deployment, token: string): Promise<string> {
  const address = `${settings.replicate.baseUrl}/webhooks/default/secret`;
  const response = await fetch(address, {
    headers: { authorization: `Bearer ${token}` },
    signal: clock.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new DeployError(
      `Replicate could not be reached (${error instanceof Error ? error.message : "no answer"}): look at your network and run the command again.`,
    );
  });
  const answer = keyed.safeParse(await response.json().catch(() => undefined));
  if (response.status === 401 || response.status === 403) {
    throw new DeployError(
      `Replicate refuses KEYFRAME_REPLICATE_API_TOKEN (HTTP ${response.status}): make a new one at ${TOKENS_PAGE}.`,
    );
  }
  if (response.status === 429) {
    throw new DeployError("Replicate limits this account's requests (HTTP 429): run the command again in a minute.");
  }
  if (response.ok && answer.success) return answer.data.key;
  throw new DeployError(
    `Replicate did not return its signing secret (HTTP ${response.status}): look at https://replicatestatus.com and run the command again.`,
  );
}

/**
 * Checks that the database is the project's, that our migrations in it are the first of this checkout's, statement for
 * statement, and that nothing of an app has a name of ours.
 */
export const databaseStage: Stage = {
  name: "Database",
  plan: async (deployment) => {
    const [local, database] = await Promise.all([readMigrations(), readDatabase(deployment.cli)]);
    deployment.found.database = database;
    await refuseOtherDatabase(deployment, database.identity);
    const files = local.map(({ version, name, text }) => [version, { name, digest: migrationDigest(text) }] as const);
    const { pending, foreign, copied, tooLate, changed } = compareMigrations(new Map(files), database.migrations);
    const newer = database.installed.filter((version) => isNewer(version, SCHEMA_VERSION));
    const unknown = database.noted.filter((name) => !local.some((migration) => migration.name === name));
    if (newer.length > 0) throw disagreement(`is of Keyframe ${newer.join(", ")}, this checkout of ${SCHEMA_VERSION}`);
    if (copied.length > 0) {
      throw new DeployError(
        "Keyframe is in this project by an app's repository (npm run add): upgrade it there, and push its migrations from there.",
      );
    }
    if (unknown.length > 0) throw disagreement(`has migrations that this checkout lacks (${unknown.join(", ")})`);
    if (changed.length > 0) {
      const names = local.filter(({ version }) => changed.includes(version)).map(({ file }) => file);
      throw disagreement(`was made by other statements than this checkout's (${names.join(", ")})`);
    }
    if (tooLate.length > 0) throw disagreement(`lacks migrations older than its newest (${tooLate.join(", ")})`);
    const applied = local.length - pending.length;
    if (applied === 0) await refuseTaken(deployment, database);
    deployment.found.foreignMigrations = foreign;
    const beside = foreign.length === 0 ? "" : `, beside ${foreign.length} of the app`;
    return { says: `${applied} of ${local.length} migrations applied, as they are here${beside}` };
  },
};

const isNewer = (version: string, than: string) => version.localeCompare(than, "en", { numeric: true }) > 0;

/** Before the first deployment, what has a name of ours is the app's: it would be replaced, or stop a migration halfway. */
async function refuseTaken({ cli }: Deployment, { schemas, buckets }: DatabaseState): Promise<void> {
  const deployed = await readVersions(cli);
  const taken = [
    ...FUNCTION_NAMES.filter((name) => deployed.has(name)).map((name) => `the function ${name}`),
    ...schemas.filter((name) => name.startsWith("keyframe")).map((name) => `the schema ${name}`),
    ...buckets.map((name) => `the bucket ${name}`),
  ];
  if (taken.length === 0) return;
  throw new DeployError(
    `The project has ${taken.join(", ")} already, without a migration of Keyframe. Rename or remove them, or give Keyframe a project of its own. If only the function api is taken, install from the app's repository, under another name: npm run add -- <folder> --function-name <name>.`,
  );
}

/** Refuses another project's database, because everything else goes to the named project. */
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
