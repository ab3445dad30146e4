import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { webhookSecret } from "../../shared/platform/environment.ts";
import { inProject } from "./config-stage.ts";
import { DeployError } from "./reporting.ts";
import type { Stage } from "./stage.ts";
import { LONG_LIMIT_MS } from "./supabase-cli.ts";

/** Applies the missing migrations, each in its own transaction. */
export const migrationsStage: Stage = {
  name: "Migrations",
  plan: async ({ cli, settings, found }) => {
    const local = await readMigrations();
    const pending = local.filter(({ version }) => !found.applied?.has(version));
    if (pending.length === 0) return { says: `all ${local.length} are there` };
    return {
      says: `${pending.length} of ${local.length} to apply`,
      more: pending.map(({ file }) => file),
      // The CLI refuses a database whose migrations its folder lacks, so it gets a folder that has an empty file for each of the app's.
      // --include-all applies ours although some of the app's are newer. None of the app's is pending, so none is applied.
      apply: async () => {
        await inProject(async (root) => {
          const folder = join(root, "supabase/migrations");
          await mkdir(folder);
          for (const { file, text } of local) await writeFile(join(folder, file), text);
          for (const version of found.foreign ?? []) await writeFile(join(folder, `${version}_app.sql`), "");
          const at = settings.database;
          const args = ["db", "push", "--include-all", "--yes"];
          await cli.run("applying the migrations", args, { root, limitMs: LONG_LIMIT_MS, ...(at && { at }) });
        });
        found.isInstalled = true;
      },
    };
  },
};

/** Creates the extensions as the first migration does. They, and their jobs, may have been disabled in the dashboard since. */
const EXTENSIONS = `do $$
begin
  if to_regnamespace('net') is null then create extension pg_net with schema extensions; end if;
  if to_regnamespace('cron') is null then create extension pg_cron with schema pg_catalog; end if;
  if to_regnamespace('vault') is null then create extension supabase_vault cascade; end if;
end
$$;`;

const JOBS = "select array_to_string(keyframe_private.schedule_jobs(), ' ') as kept;";
const jobsRow = z.object({ kept: z.string() });

/** Creates missing extensions and cron jobs: without them nothing wakes the functions. */
export const extensionsStage: Stage = {
  name: "Extensions, jobs",
  plan: async ({ cli }) => ({
    says: "pg_net, pg_cron, supabase_vault and the jobs, where missing, switched off or different",
    apply: async () => {
      const [row] = await cli.query("creating extensions and jobs", `${EXTENSIONS}\n${JOBS}`, jobsRow, "write");
      if (row?.kept)
        throw new DeployError(`The jobs are scheduled, but pg_cron has other entries of the same jobs. ${row.kept}`);
    },
  }),
};

const SECRET_BYTES = 32;
const addressRow = z.object({ address: z.string().nullable(), elsewhere: z.boolean() });
const kickRow = z.object({ keyframe_kick_secret: z.string() });

/**
 * Writes what the database needs to kick the functions: their URL and the secret that signs kicks. Uses SQL, because
 * the CLI sends `[db.vault]` only together with a pending migration.
 */
export const vaultStage: Stage = {
  name: "Vault",
  plan: async ({ cli, settings, keeper, found }) => ({
    says: `keyframe_functions_url is ${settings.projectUrl}/functions/v1; keyframe_kick_secret is added where there is none`,
    apply: async () => {
      const { projectUrl, project } = settings;
      const [is] = await cli.query(
        "checking which project the database works for",
        addressSql(projectUrl),
        addressRow,
        "write",
      );
      if (is?.elsewhere && !settings.moved) {
        const whose = is.address === null ? "its Vault does not say for which" : `it works for ${is.address}`;
        throw new DeployError(
          `The database does not work for this project: ${whose}. If it is a copy, the other project may still run, and work that waits in both would be paid for and sent twice: see "Restore a backup" in docs/upgrade.md. Then make it work for this project: npm run deploy -- --project ${project} --moved.`,
        );
      }
      const made = keeper.add(`whsec_${crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toBase64()}`);
      const [row] = await cli.query("writing to the Vault", vaultSql(projectUrl, made), kickRow, "write");
      const kept = webhookSecret.safeParse(keeper.add(row?.keyframe_kick_secret));
      if (!kept.success) {
        throw new DeployError(
          "The Vault entry keyframe_kick_secret is invalid: it must be whsec_ and base64. Delete it (delete from vault.secrets where name = 'keyframe_kick_secret') and run the command again, which creates a new one.",
        );
      }
      found.kickSecret = kept.data;
    },
  }),
};

/** A database without an entry, in which nothing was ever started, is a new one. */
const addressSql = (url: string): string => `
select a.address, a.address is distinct from '${url}' and (
    exists (select from vault.secrets s where s.name = 'keyframe_functions_url') or exists (select from keyframe.predictions)) as elsewhere
from (select keyframe_private.address() as address) a;`;

/** Writes the address, adds a kick secret where there is none that can be decrypted, and returns the one in use. Neither can contain a quote. */
const vaultSql = (url: string, kickSecret: string): string => `
select keyframe_private.set_address('${url}');
delete from vault.secrets s
where s.name = 'keyframe_kick_secret' and keyframe_private.read_secret('keyframe_kick_secret') is null;
select vault.create_secret('${kickSecret}', 'keyframe_kick_secret', 'Signs the kicks; KEYFRAME_KICK_SECRET of the functions is the same')
where not exists (select from vault.secrets s where s.name = 'keyframe_kick_secret');
select keyframe_private.read_secret('keyframe_kick_secret') as keyframe_kick_secret;`;
