import type postgres from "postgres";

/** Every right that somebody other than its owner has on our schemas or on anything in them, as `kind object grantee right`. */
export async function readRights(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ right: string }[]>`
    with ours as (select * from pg_namespace where nspname in ('keyframe', 'keyframe_worker', 'keyframe_private')),
    lists (kind, object, acl, owner) as (
      select 'schema', nspname::text, coalesce(nspacl, acldefault('n', nspowner)), nspowner from ours
      union all select 'relation', c.oid::regclass::text,
        coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner)), relowner
        from pg_class c join ours on ours.oid = relnamespace where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      union all select 'column', attrelid::regclass || '.' || attname, attacl, relowner
        from pg_attribute join pg_class c on c.oid = attrelid join ours on ours.oid = relnamespace
      union all select 'function', p.oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner)), proowner
        from pg_proc p join ours on ours.oid = pronamespace
      union all select 'type', t.oid::regtype::text, coalesce(typacl, acldefault('T', typowner)), typowner
        from pg_type t join ours on ours.oid = typnamespace where typtype in ('e', 'd')
    )
    select concat_ws(' ', kind, object, case grantee when 0 then 'public' else grantee::regrole::text end, privilege_type) as right
    from lists, aclexplode(acl) where grantee <> owner order by 1`;
  return rows.map(({ right }) => right);
}
