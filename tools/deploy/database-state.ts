import { z } from "zod";
import type { Database, SupabaseCli } from "./supabase-cli.ts";

/** The state of the project's database. */
export type DatabaseState = {
  /** Unique among all databases: its name and its server's start time. */
  identity: string;
  /** The existing schemas among those of pg_net, pg_cron, the Vault and ours. */
  schemas: string[];
  /** The existing buckets among ours. */
  buckets: string[];
  /** Applied migrations, also an app's: by version, with name and the digest of their statements. */
  migrations: Map<string, { name: string | null; digest: string | null }>;
  /** The versions of Keyframe whose migrations are complete. */
  installed: string[];
  /** The names of all migrations that those versions consist of. */
  noted: string[];
  /** Names of active cron jobs. */
  jobs: string[];
  /** Names of our Vault entries, never their values. */
  vaultNames: string[];
};

const relation = z.object({
  kind: z.enum(["identity", "schema", "migrations", "installed", "buckets", "jobs", "vault"]),
  name: z.string().nullable(),
});
const entry = z.object({
  kind: z.enum(["migrations", "installed", "noted", "buckets", "jobs", "vault"]),
  name: z.string(),
  label: z.string().nullable(),
  digest: z.string().nullable(),
});

const IDENTITY = "select current_database() || ' ' || extract(epoch from pg_postmaster_start_time())";

const WHAT_IS_THERE = `
select 'identity' as kind, (${IDENTITY}) as name
union all select 'schema', nspname::text from pg_catalog.pg_namespace where nspname in ('net', 'cron', 'vault', 'keyframe', 'keyframe_worker', 'keyframe_private')
union all select 'migrations', to_regclass('supabase_migrations.schema_migrations')::text
union all select 'installed', to_regclass('keyframe_private.installation')::text
union all select 'buckets', to_regclass('storage.buckets')::text
union all select 'jobs', to_regclass('cron.job')::text
union all select 'vault', to_regclass('vault.secrets')::text`;

/** A query may only name tables that exist, so the first query finds them. The digest is that of migrationDigest(). */
const ENTRIES = {
  migrations: `select 'migrations' as kind, version::text as name, name::text as label, encode(sha256(convert_to(
    btrim(regexp_replace(array_to_string(statements, ' '), '[; \\t\\r\\n]+', ' ', 'g'), ' '), 'UTF8')), 'hex') as digest
    from supabase_migrations.schema_migrations`,
  installed: `select 'installed' as kind, version as name, null as label, null as digest from keyframe_private.installation
    union all select 'noted', jsonb_object_keys(migrations::jsonb), null, null from keyframe_private.installation`,
  buckets:
    "select 'buckets' as kind, id as name, null as label, null as digest from storage.buckets where id in ('projects', 'keyframe-outputs')",
  jobs: "select 'jobs' as kind, jobname::text as name, null as label, null as digest from cron.job where active and jobname is not null",
  vault:
    "select 'vault' as kind, name, null as label, null as digest from vault.secrets where name in ('keyframe_functions_url', 'keyframe_kick_secret')",
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
    buckets: names("buckets"),
    migrations: new Map(
      entries.flatMap(({ kind, name, label, digest }) =>
        kind === "migrations" ? [[name, { name: label, digest }]] : [],
      ),
    ),
    installed: names("installed"),
    noted: [...new Set(names("noted"))],
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
