import type postgres from "postgres";
import { readRights } from "./rights.ts";

/** Each object of our schemas, and ours elsewhere, as text that says all about it but its rights. Only the kind of white space does not count. */
const DEFINITIONS = `
  with ours as (select oid, nspname from pg_namespace where nspname in ('keyframe', 'keyframe_worker', 'keyframe_private')),
  relations as (select c.* from pg_class c join ours on ours.oid = relnamespace where relkind in ('r', 'v'))
  select concat_ws(' ', 'table', oid::regclass, relkind, relpersistence, relrowsecurity, reloptions) from relations
  union all select concat_ws(' ', 'column', attrelid::regclass, row_number() over (partition by attrelid order by attnum), attname, format_type(atttypid, atttypmod),
    attnotnull, attidentity, attgenerated, pg_get_expr(adbin, adrelid))
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attnum > 0 and not attisdropped and attrelid in (select oid from relations union select typrelid from pg_type join ours on ours.oid = typnamespace)
  union all select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint where conrelid in (select oid from relations)
  union all select 'index ' || pg_get_indexdef(indexrelid) from pg_index where indrelid in (select oid from relations)
  union all select 'trigger ' || pg_get_triggerdef(t.oid) || tgenabled::text from pg_trigger t where tgrelid in (select oid from relations) and not tgisinternal
  union all select 'view ' || oid::regclass || pg_get_viewdef(oid) from relations where relkind = 'v'
  union all select 'function ' || pg_get_functiondef(p.oid) from pg_proc p join ours on ours.oid = pronamespace where prokind <> 'a'
  union all select format('type %s %s', t.oid::regtype, array(select enumlabel from pg_enum where enumtypid = t.oid order by enumsortorder))
    from pg_type t join ours on ours.oid = typnamespace
  union all select format('comment %s %s', identity, description) from pg_description, pg_identify_object(classoid, objoid, objsubid) where schema in (select nspname from ours)
    or classoid = 'pg_namespace'::regclass and objoid in (select oid from ours) or classoid in ('pg_trigger'::regclass, 'pg_policy'::regclass) and identity ~ 'keyframe'
  union all select concat_ws(' ', 'policy', schemaname, tablename, policyname, permissive, roles, cmd, qual, 'check', with_check) from pg_policies
    where schemaname in (select nspname from ours) or policyname like 'keyframe%'
  union all select concat_ws(' ', 'job', jobname, schedule, command, active) from cron.job where jobname like 'keyframe%'
  union all select concat_ws(' ', 'bucket', id, public, file_size_limit, allowed_mime_types) from storage.buckets
  union all select concat_ws(' ', 'published', pubname, schemaname, tablename) from pg_publication_tables where schemaname in (select nspname from ours)`;

/** Our schemas and what we have elsewhere, with all rights, sorted. */
export async function readDefinitions(sql: postgres.Sql): Promise<string[]> {
  const objects = await sql.unsafe<{ entry: string }[]>(`select entry from (${DEFINITIONS}) d (entry)`);
  return [...objects.map(({ entry }) => entry.replace(/\s+/g, " ")), ...(await readRights(sql))].toSorted();
}

/** The rows of our tables, sorted. */
export async function readRows(sql: postgres.Sql): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private')`;
  const read = tables.map(({ name }) =>
    sql.unsafe<{ row: string }[]>(`select '${name} ' || to_jsonb(t)::text as row from ${name} t`),
  );
  return (await Promise.all(read))
    .flat()
    .map(({ row }) => row)
    .toSorted();
}
