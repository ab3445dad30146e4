import { z } from "zod";
import type { Database, SupabaseCli } from "./supabase-cli.ts";

/** The state of the project's database. */
export type DatabaseState = {
  /** Unique among all databases: its name and its server's start time. */
  identity: string;
  /** The existing schemas among those of pg_net, pg_cron and the Vault. */
  schemas: string[];
  /** Applied migrations by version, with the digest of their statements. */
  migrations: Map<string, string | null>;
  /** Names of active cron jobs. */
  jobs: string[];
  /** Names of our Vault entries, never their values. */
  vaultNames: string[];
};

const relation = z.object({
  kind: z.enum(["identity", "schema", "migrations", "jobs", "vault"]),
  name: z.string().nullable(),
});
const entry = z.object({
  kind: z.enum(["migrations", "jobs", "vault"]),
  name: z.string(),
  digest: z.string().nullable(),
});

const IDENTITY = "select current_database() || ' ' || extract(epoch from pg_postmaster_start_time())";

const WHAT_IS_THERE = `
select 'identity' as kind, (${IDENTITY}) as name
union all select 'schema', nspname::text from pg_catalog.pg_namespace where nspname in ('net', 'cron', 'vault')
union all select 'migrations', to_regclass('supabase_migrations.schema_migrations')::text
union all select 'jobs', to_regclass('cron.job')::text
union all select 'vault', to_regclass('vault.secrets')::text`;

/** A query may only name tables that exist, so the first query finds them. The digest is that of migrationDigest(). */
const ENTRIES = {
  migrations: `select 'migrations' as kind, version::text as name, encode(sha256(convert_to(
    btrim(regexp_replace(array_to_string(statements, ' '), '[; \\t\\r\\n]+', ' ', 'g'), ' '), 'UTF8')), 'hex') as digest
    from supabase_migrations.schema_migrations`,
  jobs: "select 'jobs' as kind, jobname::text as name, null as digest from cron.job where active and jobname is not null",
  vault:
    "select 'vault' as kind, name, null as digest from vault.secrets where name in ('keyframe_functions_url', 'keyframe_kick_secret')",
};

/** Uses two queries in read-only transactions. */
export async function readDatabase(cli: SupabaseCli): Promise<DatabaseState> {
  const doing = "reading what the database has";
  const found = await cli.query(doing, WHAT_IS_THERE, relation, "read");
  const parts = found.flatMap(({ kind, name }) =>
    kind === "identity" || kind === "schema" || name === null ? [] : [ENTRIES[kind]],
  );
  const entries = parts.length === 0 ? [] : await cli.query(doing, parts.join("\nunion all "), entry, "read");
  const names = (kind: string) => entries.filter((row) => row.kind === kind).map(({ name }) => name);
  return {
    identity: found.find(({ kind }) => kind === "identity")?.name ?? "",
    schemas: found.flatMap(({ kind, name }) => (kind === "schema" && name !== null ? [name] : [])),
    migrations: new Map(entries.flatMap(({ kind, name, digest }) => (kind === "migrations" ? [[name, digest]] : []))),
    jobs: names("jobs"),
    vaultNames: names("vault"),
  };
}

/** The identity of the database behind a connection string. */
export async function readIdentity(cli: SupabaseCli, at: Database): Promise<string | undefined> {
  const row = z.object({ identity: z.string() });
  const query = `select (${IDENTITY}) as identity`;
  const [found] = await cli.query("asking which database SUPABASE_DB_URL leads to", query, row, "read", { at });
  return found?.identity;
}
