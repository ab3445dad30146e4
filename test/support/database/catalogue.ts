import type postgres from "postgres";

/** What a migration can leave behind, each as a query of one text column. Extensions' own schemas are not ours to list. */
const OURS = `('keyframe', 'keyframe_worker', 'keyframe_private')`;
const QUERIES: Record<string, string> = {
  schemas: `select concat_ws(' ', nspname, nspacl) from pg_namespace where nspname in ${OURS}`,
  tables: `select concat_ws(' ', oid::regclass, relkind, relpersistence, relrowsecurity, reloptions, relacl) from pg_class
    where relnamespace::regnamespace::text in ${OURS}`,
  columns: `select concat_ws(' ', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attacl)
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attnum > 0 and attrelid in (select oid from pg_class where relnamespace::regnamespace::text in ${OURS})`,
  constraints: `select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace::regnamespace::text in ${OURS}`,
  indexes: `select indexdef from pg_indexes where schemaname in ${OURS}`,
  functions: `select concat_ws(' ', pg_get_functiondef(oid), proacl) from pg_proc where pronamespace::regnamespace::text in ${OURS}`,
  triggers: `select concat_ws(' ', pg_get_triggerdef(oid), tgenabled) from pg_trigger where not tgisinternal`,
  policies: `select concat_ws(' ', schemaname, tablename, policyname, cmd, roles, qual, with_check) from pg_policies`,
  enums: `select concat_ws(' ', enumtypid::regtype, enumsortorder, enumlabel) from pg_enum`,
  comments: `select concat_ws(' ', objoid::regclass, objsubid, description) from pg_description where classoid = 'pg_class'::regclass
    and objoid in (select oid from pg_class where relnamespace::regnamespace::text in ${OURS})`,
  defaultGrants: `select concat_ws(' ', pg_get_userbyid(defaclrole), defaclnamespace, defaclobjtype, defaclacl) from pg_default_acl`,
  jobs: `select concat_ws(' ', jobname, schedule, command, active) from cron.job`,
  buckets: `select concat_ws(' ', id, public, file_size_limit, allowed_mime_types) from storage.buckets`,
  settings: `select s::text from keyframe_private.settings s`,
  rateLimits: `select l::text from keyframe_private.rate_limits l`,
  moves: `select m::text from keyframe_private.prediction_moves m`,
  models: `select m::text from keyframe.models m`,
  migrations: `select concat_ws(' ', version, name) from supabase_migrations.schema_migrations`,
};

/** Everything above, sorted: equal before and after means that nothing changed. */
export async function readCatalogue(sql: postgres.Sql): Promise<Record<string, string[]>> {
  const entries = Object.entries(QUERIES).map(async ([name, query]) => {
    const rows = await sql.unsafe<{ entry: string }[]>(`select entry from (${query}) as q (entry)`);
    return [name, rows.map(({ entry }) => entry).sort()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
