import { readFile } from "node:fs/promises";
import type postgres from "postgres";

const names = ["pg_net", "pg_cron", "supabase_vault"] as const;
export type ExtensionName = (typeof names)[number];
export type Installed = Record<ExtensionName, "real" | "stand-in"> & {
  /** Why a stand-in is used although the real extension is there: a line each. */
  notes: string[];
};

/**
 * Each stand-in's SQL and schema, the library that the real extension needs loaded, the setting that names the one database it
 * works for, and whom the hosted platform opens it to.
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
/** The first that knows '5 seconds', which the migrations schedule. */
const OLDEST_PG_CRON = [1, 5] as const;
/** Two starts at once on a database would trip over each other's "if not exists". */
const LOCK = 5470000;

/**
 * Installs pg_net, pg_cron and Vault in the database of `sql` (a superuser): the real extension where the server has one
 * that works here, else the stand-in. May run at each start. The roles postgres, anon, authenticated and service_role
 * have to exist. Throws when one is installed here that works for another database.
 */
export async function installExtensions(sql: postgres.Sql, { useReal = true } = {}): Promise<Installed> {
  const session = await sql.reserve();
  try {
    // Of the session: a lock taken inside a transaction would leave that with what it knew of the schema before.
    await session`select pg_advisory_lock(${LOCK}::bigint), set_config('client_min_messages', 'warning', false)`;
    return await installEach(session, useReal);
  } finally {
    await session`select pg_advisory_unlock(${LOCK}::bigint), set_config('client_min_messages', 'notice', false)`;
    session.release();
  }
}

async function installEach(session: postgres.ReservedSql, useReal: boolean): Promise<Installed> {
  const installed: Installed = { pg_net: "stand-in", pg_cron: "stand-in", supabase_vault: "stand-in", notes: [] };
  for (const name of names) {
    const { file, grants } = extensions[name];
    const obstacle = useReal ? await obstacleToReal(session, name) : NOT_AVAILABLE;
    // Several statements in one query are one transaction.
    if (obstacle === undefined) {
      await session.unsafe(`create extension if not exists ${name} cascade; ${grants}`);
      installed[name] = "real";
    } else {
      await session.unsafe(await readFile(new URL(file, import.meta.url), "utf8"));
      if (obstacle !== NOT_AVAILABLE) installed.notes.push(`${name}: the stand-in is used, as ${obstacle}`);
    }
  }
  return installed;
}

async function obstacleToReal(sql: postgres.ReservedSql, name: ExtensionName): Promise<string | undefined> {
  const { schema, preloaded, database } = extensions[name];
  const [found] = await sql<
    {
      available: boolean;
      version: string | null;
      created: boolean;
      schema: boolean;
      libraries: string;
      setting: string | null;
      here: string;
    }[]
  >`
    select
      exists (select from pg_available_extensions where name = ${name}) as available,
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
    throw new Error(`${name} is installed in the database ${found.here}, and does nothing for it, as ${elsewhere}.`);
  }
  if (found?.created) return undefined;
  if (!found?.available) return NOT_AVAILABLE;
  if (preloaded && !found.libraries.split(/[\s,"]+/).includes(preloaded)) {
    return "its library is not in shared_preload_libraries";
  }
  if (name === "pg_cron" && !isAtLeast(found.version, OLDEST_PG_CRON)) {
    return `the server's is ${found.version} and schedules of seconds need ${OLDEST_PG_CRON.join(".")}`;
  }
  if (elsewhere) return `${elsewhere} for the real one`;
  if (found.schema) return `the schema ${schema} is there already`;
  return undefined;
}

/** `version` is like 1.4-1. */
function isAtLeast(version: string | null, [major, minor]: readonly [number, number]): boolean {
  const [has = 0, hasMinor = 0] = (version ?? "").split(/\D/).map(Number);
  return has > major || (has === major && hasMinor >= minor);
}
