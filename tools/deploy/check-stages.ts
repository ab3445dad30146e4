import { z } from "zod";
import { webhookSecret } from "../../shared/platform/environment.ts";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { readMigrations, statementsOf } from "../../local/stack/read-migrations.ts";
import { sha256Hex } from "../digests.ts";
import { DeployError } from "./reporting.ts";
import type { Deployment, Stage } from "./stage.ts";

const secretList = z.object({
  secrets: z.array(z.object({ name: z.string(), value: z.string() })),
  target: z.object({ project_name: z.string().optional() }).optional(),
});

/** Checks the login and the project, and reads which secrets its functions have (as SHA-256). */
export const projectStage: Stage = {
  name: "Project",
  plan: async ({ cli, found, settings }) => {
    const { secrets, target } = await cli.read("looking at the project", ["secrets", "list"], secretList);
    for (const { name, value } of secrets) found.secretDigests.set(name, value);
    return { says: [target?.project_name, settings.projectUrl].filter(Boolean).join(", ") };
  },
};

const TIMEOUT_MS = 20_000;
const TOKENS_PAGE = "https://replicate.com/account/api-tokens";
const keyed = z.object({ key: webhookSecret });

/** Checks the token and fetches the secret that signs Replicate's callbacks. */
export const replicateStage: Stage = {
  name: "Replicate",
  plan: async (deployment) => {
    const { settings, found, keeper } = deployment;
    if (settings.replicate.token !== undefined) {
      found.signingSecret = keeper.add(await fetchSigningSecret(deployment, settings.replicate.token));
      return { says: "token accepted, signing secret fetched" };
    }
    const names = ["KEYFRAME_REPLICATE_API_TOKEN", "KEYFRAME_REPLICATE_WEBHOOK_SECRET"];
    if (names.every((name) => found.secretDigests.has(name))) {
      return { says: "the project's token is kept (KEYFRAME_REPLICATE_API_TOKEN is not set here)" };
    }
    throw new DeployError(
      `Set KEYFRAME_REPLICATE_API_TOKEN: create a token at ${TOKENS_PAGE} and run the command again.`,
    );
  },
};

async function fetchSigningSecret({ settings, fetch, clock }: Deployment, token: string): Promise<string> {
  const response = await fetch(`${settings.replicate.baseUrl}/webhooks/default/secret`, {
    headers: { authorization: `Bearer ${token}` },
    signal: clock.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw new DeployError(
      `Replicate could not be reached (${error instanceof Error ? error.message : "no answer"}): check your network and run the command again.`,
    );
  });
  const answer = keyed.safeParse(await response.json().catch(() => undefined));
  if (response.ok && answer.success) return answer.data.key;
  throw new DeployError(
    response.status === 401 || response.status === 403
      ? `Replicate refuses KEYFRAME_REPLICATE_API_TOKEN (HTTP ${response.status}): create a new one at ${TOKENS_PAGE}.`
      : `Replicate did not return its signing secret (HTTP ${response.status}): check https://replicatestatus.com and run the command again in a minute.`,
  );
}

/** The identity is unique among all databases: a database's name and its server's start time. */
const ABOUT = `select current_database() || ' ' || extract(epoch from pg_postmaster_start_time()) as identity,
  to_regclass('supabase_migrations.schema_migrations') is not null as history,
  to_regclass('keyframe_private.installation') is not null as installation,
  (select string_agg(name, ', ') from unnest(array['keyframe', 'keyframe_worker', 'keyframe_private']) name
    where to_regnamespace(name) is null) as missing`;
const about = z.object({
  identity: z.string(),
  history: z.boolean(),
  installation: z.boolean(),
  missing: z.string().nullable(),
});

/** The digest is that of statementsOf(). */
const HISTORY = `select version::text, name::text, encode(sha256(convert_to(
    btrim(regexp_replace(array_to_string(statements, ' '), '[; \\t\\r\\n]+', ' ', 'g'), ' '), 'UTF8')), 'hex') as digest
  from supabase_migrations.schema_migrations order by version`;
const applied = z.object({ version: z.string(), name: z.string().nullable(), digest: z.string().nullable() });

/** Each version's migration notes its version. */
const NOTED = "select 'keyframe_' || replace(version, '.', '_') as name from keyframe_private.installation";
const noted = z.object({ name: z.string() });

/**
 * Checks that the database is the project's, that our migrations in it are the first of this checkout's, statement for
 * statement, and that no function of an app has one of our names.
 */
export const databaseStage: Stage = {
  name: "Database",
  plan: async (deployment) => {
    const { cli, found } = deployment;
    const read = <T extends z.ZodType>(sql: string, row: T) =>
      cli.query("reading what the database has", sql, row, "read");
    const [has] = await read(ABOUT, about);
    await refuseOtherDatabase(deployment, has?.identity);
    const there = has?.history ? await read(HISTORY, applied) : [];
    const notes = has?.installation ? await read(NOTED, noted) : [];

    const local = await readMigrations();
    const ours = there.filter(({ version }) => local.some((file) => file.version === version));
    const others = there.filter((migration) => !ours.includes(migration));
    if (others.some(({ name }) => local.some((file) => name === file.name))) {
      throw new DeployError(
        "Keyframe is in this project by an app's repository (npm run add): upgrade it there, and push its migrations from there.",
      );
    }
    const unknown = notes.flatMap(({ name }) => (local.some((file) => file.name === name) ? [] : [name]));
    if (unknown.length > 0) throw disagreement(`has migrations that this checkout lacks (${unknown.join(", ")})`);
    const { project } = deployment.settings;
    const known = local.filter(({ name }) => notes.some((note) => note.name === name));
    if (has?.missing && known.length + ours.length > 0) throw missingSchemas(has.missing, ours, project);
    const unlisted = known.filter((file) => !ours.some(({ version }) => version === file.version));
    if (unlisted.length > 0) {
      throw new DeployError(
        `The database has Keyframe, but its migration history does not say so. To repair it: ${repair(unlisted, "applied", project)}`,
      );
    }
    const digests = new Map(ours.map(({ version, digest }) => [version, digest]));
    const changed = local.filter(
      ({ version, text }) => digests.has(version) && digests.get(version) !== sha256Hex(statementsOf(text)),
    );
    if (changed.length > 0) {
      const files = changed.map(({ file }) => file).join(", ");
      throw disagreement(`was made by migrations that differ from this checkout's (${files})`);
    }
    if (ours.length === 0) await refuseTakenFunctions(deployment);
    found.applied = new Set(there.map(({ version }) => version));
    found.foreign = others.map(({ version }) => version);
    found.isInstalled = has?.installation ?? false;
    const beside = others.length === 0 ? "" : `, beside ${others.length} of the app`;
    return { says: `${ours.length} of ${local.length} migrations applied, as they are here${beside}` };
  },
};

const repair = (migrations: { version: string }[], status: "applied" | "reverted", project: string) =>
  `npx supabase migration repair ${migrations.map(({ version }) => version).join(" ")} --status ${status} --yes --remote=${project}`;

const missingSchemas = (missing: string, ours: { version: string }[], project: string) =>
  new DeployError(
    `The database has lost these schemas of Keyframe: ${missing}. Restore a backup (docs/upgrade.md). To start over, without films and their data: remove the rest (docs/deploy.md, "Remove it")${ours.length === 0 ? "" : `, then ${repair(ours, "reverted", project)}`}, then deploy.`,
  );

const disagreement = (what: string) =>
  new DeployError(
    `The database ${what}. Is it this project's database, and is the checkout up to date? See docs/upgrade.md.`,
  );

const functionList = z.object({ functions: z.array(z.object({ slug: z.string() })) });

/** Before the first deployment, a function with one of our names belongs to the app: it would be replaced. */
async function refuseTakenFunctions({ cli }: Deployment): Promise<void> {
  const { functions } = await cli.read("looking at the functions", ["functions", "list"], functionList);
  const taken = FUNCTION_NAMES.filter((name) => functions.some(({ slug }) => slug === name));
  if (taken.length === 0) return;
  const named = taken.map((name) => `the function ${name}`).join(", ");
  throw new DeployError(
    `The project has ${named} already, without a migration of Keyframe. Rename or remove them, or give Keyframe a project of its own. If only the function api is taken, install from the app's repository, under another name: npm run add -- <folder> --function-name <name>.`,
  );
}

/** Refuses another project's database, because everything else goes to the named project. */
async function refuseOtherDatabase(
  { cli, settings: { database, project } }: Deployment,
  identity: string | undefined,
): Promise<void> {
  if (database === undefined) return;
  const doing = "checking which database SUPABASE_DB_URL leads to";
  const [given] = await cli.query(doing, ABOUT, about, "read", { at: database });
  if (given !== undefined && given.identity === identity) return;
  throw new DeployError(
    `SUPABASE_DB_URL is not the database of the project ${project}: the migrations would go to the wrong place. Copy the connection string from the project's page (Connect), or leave SUPABASE_DB_URL out.`,
  );
}
