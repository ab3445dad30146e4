import { z } from "zod";
import type { SupabaseCli } from "./supabase-cli.ts";

/** What a deployment wants to know of the project's database. */
export type DatabaseState = {
  /** Of the schemas that pg_net, pg_cron and the Vault live in, those that are there. */
  schemas: string[];
  /** Versions of the migrations that were applied. */
  migrations: string[];
  /** Names of pg_cron's active jobs. */
  jobs: string[];
  /** Which of our entries the Vault holds; never their values. */
  vaultNames: string[];
};

const relation = z.object({ kind: z.enum(["schema", "migrations", "jobs", "vault"]), name: z.string().nullable() });
const entry = z.object({ kind: z.enum(["migrations", "jobs", "vault"]), name: z.string() });

const WHAT_IS_THERE = `
select 'schema' as kind, nspname::text as name from pg_catalog.pg_namespace where nspname in ('net', 'cron', 'vault')
union all select 'migrations', to_regclass('supabase_migrations.schema_migrations')::text
union all select 'jobs', to_regclass('cron.job')::text
union all select 'vault', to_regclass('vault.secrets')::text`;

/** A query may only name what exists, so the first one asks. */
const ENTRIES = {
  migrations: "select 'migrations' as kind, version::text as name from supabase_migrations.schema_migrations",
  jobs: "select 'jobs' as kind, jobname::text as name from cron.job where active and jobname is not null",
  vault: "select 'vault' as kind, name from vault.secrets where name in ('functions_url', 'kick_secret')",
};

/** Reads it with two queries of a read-only transaction. */
export async function readDatabase(cli: SupabaseCli): Promise<DatabaseState> {
  const doing = "reading what the database has";
  const relations = await cli.query(doing, WHAT_IS_THERE, relation, "read");
  const parts = relations.flatMap(({ kind, name }) => (kind === "schema" || name === null ? [] : [ENTRIES[kind]]));
  const entries = parts.length === 0 ? [] : await cli.query(doing, parts.join("\nunion all "), entry, "read");
  const names = (kind: string) => entries.filter((found) => found.kind === kind).map(({ name }) => name);
  return {
    schemas: relations.flatMap(({ kind, name }) => (kind === "schema" && name !== null ? [name] : [])),
    migrations: names("migrations"),
    jobs: names("jobs"),
    vaultNames: names("vault"),
  };
}
