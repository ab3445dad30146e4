import type postgres from "postgres";

/** What everybody shares. Each is a query of one text column; the CLI's own list of migrations is left out. */
const SHARED = `
  select concat_ws(' ', 'schema', nspname, nspacl) from pg_namespace where nspname !~ '^(pg_|supabase_migrations)'
  union all select concat_ws(' ', 'relation', oid::regclass, relkind, relrowsecurity, relacl) from pg_class
    where relnamespace::regnamespace::text !~ '^(pg_|information_schema|supabase_migrations)'
  union all select concat_ws(' ', 'column', attrelid::regclass, attname, atttypid::regtype, attacl) from pg_attribute
    join pg_class on pg_class.oid = attrelid where relkind = 'r' and attnum > 0 and relnamespace::regnamespace::text !~ '^(pg_|information_schema|supabase_migrations)'
  union all select concat_ws(' ', 'function', oid::regprocedure, proacl) from pg_proc where pronamespace::regnamespace::text !~ '^(pg_|information_schema)'
  union all select concat_ws(' ', 'type', oid::regtype) from pg_type where typtype = 'e'
  union all select concat_ws(' ', 'trigger', tgrelid::regclass, tgname) from pg_trigger where not tgisinternal
  union all select concat_ws(' ', 'event trigger', evtname) from pg_event_trigger
  union all select concat_ws(' ', 'policy', schemaname, tablename, policyname, qual, with_check) from pg_policies
  union all select concat_ws(' ', 'default grants', pg_get_userbyid(defaclrole), defaclnamespace::regnamespace, defaclobjtype, defaclacl) from pg_default_acl
  union all select concat_ws(' ', 'extension', extname) from pg_extension
  union all select concat_ws(' ', 'job', jobname, schedule, command) from cron.job
  union all select concat_ws(' ', 'bucket', id, public, file_size_limit) from storage.buckets
  union all select concat_ws(' ', 'vault', name) from vault.secrets
  union all select concat_ws(' ', 'published', pubname, schemaname, tablename) from pg_publication_tables
  union all select concat_ws(' ', 'role', rolname, rolconfig) from pg_roles where rolname not like 'test%'`; // all files share the server's roles

/** All of that, sorted. */
export async function readEverything(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql.unsafe<{ entry: string }[]>(`select entry from (${SHARED}) as shared (entry) order by 1`);
  return rows.map(({ entry }) => entry);
}
