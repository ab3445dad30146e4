import { readFile } from "node:fs/promises";
import type postgres from "postgres";
import { pause } from "../../shared/platform/retry.ts";

const NAMES = ["pg_net", "pg_cron", "supabase_vault"] as const;
type ExtensionName = (typeof NAMES)[number];
export type Installed = Record<ExtensionName, "real" | "stand-in"> & {
  /** Why a stand-in is used although the server has the real extension: a line each. */
  notes: string[];
};

/**
 * Each stand-in's SQL and schema, the library the real extension needs loaded, the setting that names the one database it works
 * for, and the hosted platform's grants.
 */
const extensions: Record<
  ExtensionName,
  { file: string; schema: string; preloaded?: string; database?: string; grants: string }
> = {
  pg_net: {
    file: "pg-net.sql",
    schema: "net",
    preloaded: "pg_net",
    database: "pg_net.database_name",
    grants: "grant usage on schema net to postgres, anon, authenticated, service_role",
  },
  pg_cron: {
    file: "pg-cron.sql",
    schema: "cron",
    preloaded: "pg_cron",
    database: "cron.database_name",
    grants: `grant usage on schema cron to postgres;
      grant execute on all functions in schema cron to postgres;
      grant select on cron.job, cron.job_run_details to postgres`,
  },
  supabase_vault: {
    file: "vault.sql",
    schema: "vault",
    grants: `grant usage on schema vault to postgres, service_role;
      grant select, delete on vault.secrets, vault.decrypted_secrets to postgres, service_role;
      grant execute on function vault.create_secret, vault.update_secret, vault._crypto_aead_det_decrypt
        to postgres, service_role`,
  },
};

const NOT_AVAILABLE = "the server does not have it";
/** The first version with schedules such as '5 seconds', which the migrations use. */
const OLDEST_PG_CRON = [1, 5] as const;
/** Two starts on one database must not run "if not exists" at the same time, because it then fails. */
const LOCK = 5470000;

/**
 * Installs pg_net, pg_cron and Vault in the database of `sql` (a superuser): the real extension where it works on this
 * server, else the stand-in. May run at each start. Needs the roles postgres, anon, authenticated and service_role. Throws
 * when an installed extension works for another database.
 */
export async function installExtensions(sql: postgres.Sql, { useReal = true } = {}): Promise<Installed> {
  const session = await sql.reserve();
  try {
    // A session lock: a transaction that waited for the lock would still see the old schema.
    await session`select pg_advisory_lock(${LOCK}::bigint), set_config('client_min_messages', 'warning', false)`;
    return await installEach(session, useReal);
  } finally {
    await session`select pg_advisory_unlock(${LOCK}::bigint), set_config('client_min_messages', 'notice', false)`;
    session.release();
  }
}

async function installEach(session: postgres.ReservedSql, useReal: boolean): Promise<Installed> {
  const installed: Installed = { pg_net: "stand-in", pg_cron: "stand-in", supabase_vault: "stand-in", notes: [] };
  for (const name of NAMES) {
    const { file, grants } = extensions[name];
    const obstacle = useReal ? await obstacleToReal(session, name) : NOT_AVAILABLE;
    // The statements of one query are one transaction.
    if (obstacle === undefined) {
      const into = name === "pg_net" ? "with schema extensions" : ""; // as the migrations do
      await session.unsafe(`create extension if not exists ${name} ${into} cascade; ${grants}`);
      installed[name] = "real";
    } else {
      await session.unsafe(`${await readFile(new URL(file, import.meta.url), "utf8")}; ${grants}`);
      if (obstacle !== NOT_AVAILABLE) installed.notes.push(`${name}: using the stand-in, because ${obstacle}`);
    }
  }
  return installed;
}

async function obstacleToReal(sql: postgres.ReservedSql, name: ExtensionName): Promise<string | undefined> {
  const { schema, preloaded, database } = extensions[name];
  type Found = Record<"version" | "setting", string | null> & Record<"libraries" | "here", string>;
  const [found] = await sql<(Found & Record<"created" | "schema", boolean>)[]>`
    select
      (select default_version from pg_available_extensions where name = ${name}) as version,
      exists (select from pg_extension where extname = ${name}) as created,
      to_regnamespace(${schema}) is not null as schema,
      current_setting('shared_preload_libraries') as libraries,
      current_setting(${database ?? ""}, true) as setting,
      current_database() as here`;
  const elsewhere =
    database && found?.setting && found.setting !== found.here
      ? `${database} is ${found.setting}: set it to ${found.here} in postgresql.conf and restart Postgres`
      : undefined;
  if (found?.created && elsewhere) {
    throw new Error(
      `${name} is installed in the database ${found.here} but does nothing for it, because ${elsewhere}.`,
    );
  }
  if (found?.created) return undefined;
  if (!found?.version) return NOT_AVAILABLE;
  if (preloaded && !found.libraries.split(/[\s,"]+/).includes(preloaded)) {
    return "its library is not in shared_preload_libraries";
  }
  if (name === "pg_cron" && !isAtLeast(found.version, OLDEST_PG_CRON)) {
    return `the server's is ${found.version} and schedules of seconds need ${OLDEST_PG_CRON.join(".")}`;
  }
  if (elsewhere) return `${elsewhere} for the real one`;
  if (found.schema) return `the schema ${schema} already exists`;
  return undefined;
}

/** `version` looks like 1.4-1. */
function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [has = 0, hasMinor = 0] = version.split(/\D/).map(Number);
  return has > major || (has === major && hasMinor >= minor);
}

const CHECK_JOB = "keyframe-can-cron-run";
const CHECK_EVERY_MS = 100;
/** A job of every second normally runs within two. */
const CHECK_TIMEOUT_MS = 15_000;

/**
 * Runs a temporary job in the real pg_cron as the role postgres, as the migrations' jobs. Throws when it does not run, because
 * the sweep would not run either.
 */
export async function checkCronRuns(sql: postgres.Sql, signal: AbortSignal): Promise<void> {
  const [job] = await sql<{ id: string }[]>`
    select cron.schedule_in_database(${CHECK_JOB}, '1 second', 'select 1', current_database(), 'postgres') as id`;
  try {
    const end = performance.now() + CHECK_TIMEOUT_MS;
    while (performance.now() < end && !signal.aborted) {
      const [run] = await sql<{ status: string; message: string | null }[]>`
        select status, return_message as message from cron.job_run_details
        where jobid = ${job?.id ?? ""} and status in ('succeeded', 'failed') order by runid limit 1`;
      if (run?.status === "succeeded") return;
      if (run) throw new Error(`pg_cron cannot run a job: ${run.message ?? "no message"}. ${CRON_ADVICE}`);
      await pause(CHECK_EVERY_MS, signal);
    }
    signal.throwIfAborted();
    throw new Error(`pg_cron has run no job for ${CHECK_TIMEOUT_MS / 1000} s. ${CRON_ADVICE}`);
  } finally {
    await sql`select cron.unschedule(${job?.id ?? ""}::bigint)`;
    await sql`delete from cron.job_run_details where jobid = ${job?.id ?? ""}`;
  }
}

const CRON_ADVICE =
  "It connects to the server again for each run, without a password: set cron.use_background_workers = on in postgresql.conf " +
  "and restart Postgres, or let the role postgres in from localhost in pg_hba.conf (trust), or by a .pgpass of the server's user.";
