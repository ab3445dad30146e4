import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { webhookSecret } from "../../shared/platform/environment.ts";
import { inProject } from "./config-stage.ts";
import { readDatabase } from "./database-state.ts";
import { scheduledJobs } from "./migrations.ts";
import { DeployError } from "./reporting.ts";
import type { Deployment, Stage } from "./stage.ts";

/** Enough for a migration that waits for a lock or builds an index. */
const LIMIT_MS = 30 * 60_000;

/** Applies the missing migrations, each in its own transaction. */
export const migrationsStage: Stage = {
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
        const options = { limitMs: LIMIT_MS, ...(at && { at }) };
        const foreign = found.foreignMigrations ?? [];
        if (foreign.length === 0) await cli.run("applying the migrations", ["db", "push", "--yes"], options);
        else
          await pushBeside(foreign, local, (root, args) =>
            cli.run("applying the migrations", args, { ...options, root }),
          );
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

/**
 * The CLI refuses a database whose migrations its folder lacks, so it gets a folder that has an empty file for each of the app's.
 * --include-all applies ours although some of the app's are newer. None of the app's is pending, so none is applied.
 */
async function pushBeside(
  foreign: string[],
  ours: { file: string; text: string }[],
  push: (root: string, args: string[]) => Promise<unknown>,
): Promise<void> {
  await inProject(async (root) => {
    const folder = join(root, "supabase/migrations");
    await mkdir(folder);
    for (const { file, text } of ours) await writeFile(join(folder, file), text);
    for (const version of foreign) await writeFile(join(folder, `${version}_app.sql`), "");
    await push(root, ["db", "push", "--include-all", "--yes"]);
  });
}

/**
 * The extensions that the migrations create, and the schema that shows each. They may have been disabled in the
 * dashboard.
 */
const EXTENSIONS = [
  { name: "pg_net", schema: "net", statement: "create extension pg_net;" },
  { name: "pg_cron", schema: "cron", statement: "create extension pg_cron with schema pg_catalog;" },
  { name: "supabase_vault", schema: "vault", statement: "create extension supabase_vault cascade;" },
];

/** Creates missing extensions and cron jobs: without them nothing wakes the functions. */
export const extensionsStage: Stage = {
  name: "Extensions, jobs",
  plan: async ({ cli, found, settings }) => {
    const migrations = await readMigrations();
    const jobs = scheduledJobs(migrations.map(({ text }) => text));
    const { schemas = [], jobs: active = [] } = found.database ?? {};
    const missing = [
      ...EXTENSIONS.filter(({ schema }) => !schemas.includes(schema)),
      ...jobs.filter(({ name }) => !active.includes(name)),
    ];
    if (missing.length === 0) {
      return { says: `${EXTENSIONS.map(({ name }) => name).join(", ")} and ${jobs.length} jobs are there` };
    }
    return {
      says: `to create${settings.dryRun ? ", where no migration does" : ""}: ${missing.map(({ name }) => name).join(", ")}`,
      apply: async () => {
        const sql = missing.map(({ statement }) => statement).join("\n");
        await cli.query("creating extensions and jobs", sql, z.unknown(), "write");
        return "created";
      },
    };
  },
};

const NAMES = ["keyframe_functions_url", "keyframe_kick_secret"];
const SECRET_BYTES = 32;
const kickRow = z.object({ keyframe_kick_secret: z.string() });

/**
 * Writes what the database needs to kick the functions: their URL and the secret that signs kicks. Uses SQL, because
 * the CLI sends `[db.vault]` only together with a pending migration.
 */
export const vaultStage: Stage = {
  name: "Vault",
  plan: async (deployment) => {
    const kept = deployment.found.database?.vaultNames ?? [];
    const missing = NAMES.filter((name) => !kept.includes(name));
    const { isWrong, more } = kept.includes("keyframe_functions_url") ? await compareUrl(deployment) : RIGHT;
    const changes = [
      ...(missing.length > 0 ? [`to add: ${missing.join(", ")}`] : []),
      ...(isWrong ? ["to correct: keyframe_functions_url"] : []),
    ];
    return {
      says: changes.length === 0 ? `${NAMES.join(" and ")} are there` : changes.join("; "),
      more,
      apply: async () => {
        deployment.found.kickSecret = await write(deployment);
        return changes.length === 0 ? "kept" : "written";
      },
    };
  },
};

const functionsUrl = (projectUrl: string) => `${projectUrl}/functions/v1`;

type Comparison = { isWrong: boolean; more: string[] };
const RIGHT: Comparison = { isWrong: false, more: [] };

/** Whether the Vault holds another URL than this project's. */
async function compareUrl({ cli, settings }: Deployment): Promise<Comparison> {
  const wanted = functionsUrl(settings.projectUrl);
  const query = "select decrypted_secret as url from vault.decrypted_secrets where name = 'keyframe_functions_url'";
  const row = z.object({ url: z.string() });
  try {
    const [found] = await cli.query("reading keyframe_functions_url", query, row, "read");
    return found?.url === wanted
      ? RIGHT
      : { isWrong: true, more: [`keyframe_functions_url: ${found?.url} → ${wanted}`] };
  } catch (error) {
    if (!(error instanceof DeployError)) throw error;
    // The read-only role may not be allowed to decrypt. Writing corrects the URL in any case.
    return {
      isWrong: false,
      more: [`keyframe_functions_url could not be compared with ${wanted}: it is written if it differs`],
    };
  }
}

async function write({ cli, settings, keeper }: Deployment): Promise<string> {
  const made = keeper.add(`whsec_${crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64()}`);
  const sql = vaultSql(functionsUrl(settings.projectUrl), made);
  const [row] = await cli.query("writing to the Vault", sql, kickRow, "write");
  const kept = webhookSecret.safeParse(keeper.add(row?.keyframe_kick_secret));
  if (kept.success) return kept.data;
  throw new DeployError(
    "The Vault entry keyframe_kick_secret cannot sign: it must be whsec_ and base64. Delete it (delete from vault.secrets where name = 'keyframe_kick_secret') and run the command again: it makes a new one.",
  );
}

/** An SQL literal. */
const quote = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/**
 * Adds `keyframe_functions_url` and `keyframe_kick_secret` to the Vault where missing, corrects the URL, keeps an
 * existing kick secret, and returns the secret in use as a row `{ keyframe_kick_secret }`. `kickSecret` is the one for
 * a new entry.
 */
export function vaultSql(functionsUrl: string, kickSecret: string): string {
  const name = "keyframe_functions_url";
  return `
select vault.update_secret(v.id, ${quote(functionsUrl)}) from vault.decrypted_secrets v
where v.name = '${name}' and v.decrypted_secret is distinct from ${quote(functionsUrl)};
select vault.create_secret(${quote(functionsUrl)}, '${name}', 'Where Keyframe kicks its functions')
where not exists (select from vault.secrets s where s.name = '${name}');
select vault.create_secret(${quote(kickSecret)}, 'keyframe_kick_secret', 'Signs the kicks; KEYFRAME_KICK_SECRET of the functions is the same')
where not exists (select from vault.secrets s where s.name = 'keyframe_kick_secret');
select v.decrypted_secret as keyframe_kick_secret from vault.decrypted_secrets v where v.name = 'keyframe_kick_secret';`;
}
