import type postgres from "postgres";

/**
 * The rights on our schemas and on what is in them, as SQL that makes them whatever the defaults of a database are. `sql` is a
 * connection to a database without such defaults, migrated up to here.
 */
export async function describeRights(sql: postgres.Sql): Promise<string> {
  const rows = await sql<{ statement: string }[]>`
    with spaces as (
      select oid, nspname, nspacl, nspowner from pg_namespace where nspname in ('keyframe', 'keyframe_worker', 'keyframe_private')
    ), rights as (
      select 'schema' as kind, quote_ident(nspname) as object, lower(privilege_type) as privilege, grantee, nspowner as owner
      from spaces, aclexplode(nspacl)
      union all
      select case relkind when 'S' then 'sequence' else 'table' end, format('%I.%I', nspname, relname), lower(privilege_type), grantee, relowner
      from pg_class join spaces on spaces.oid = relnamespace, aclexplode(relacl)
      union all
      select 'table', format('%I.%I', nspname, relname),
        format('%s (%s)', lower(privilege_type), string_agg(quote_ident(attname), ', ' order by attnum)), grantee, relowner
      from pg_attribute join pg_class c on c.oid = attrelid join spaces on spaces.oid = relnamespace, aclexplode(attacl)
      group by nspname, relname, privilege_type, grantee, relowner
      union all
      select 'function', format('%I.%I(%s)', nspname, proname, oidvectortypes(proargtypes)), lower(privilege_type), grantee, proowner
      from pg_proc p join spaces on spaces.oid = pronamespace, aclexplode(proacl)
    ), of_object as (
      select kind, object, grantee::regrole::text as grantee, string_agg(privilege, ', ' order by privilege) as privileges
      from rights where grantee <> owner and grantee <> 0 group by kind, object, grantee
    ), of_grantees as (
      select kind, object, privileges, string_agg(grantee, ', ' order by grantee) as grantees
      from of_object group by kind, object, privileges
    )
    select format(E'grant %s on %s\n  %s\nto %s;', privileges, kind, string_agg(object, E',\n  ' order by object collate "C"), grantees) as statement
    from of_grantees group by kind, privileges, grantees
    order by array_position(array['schema', 'table', 'sequence', 'function'], kind), privileges, grantees`;
  return ["select keyframe_private.revoke_all_rights();", ...rows.map(({ statement }) => statement)].join("\n");
}
