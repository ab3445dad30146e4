import type postgres from "postgres";

/**
 * Holds every row against every check and every foreign key of our tables once more, as a table scan: a crash, or a trigger
 * that was switched off for a moment, must not have left a row that could not be written.
 */
export async function checkConstraints(sql: postgres.Sql | postgres.TransactionSql): Promise<string[]> {
  const constraints = await sql<{ name: string; table: string; query: string }[]>`
    select c.conname as name, c.conrelid::regclass::text as table,
      case c.contype
        when 'c' then format('select count(*)::int as rows from only %s where not (%s)', c.conrelid::regclass,
          pg_get_expr(c.conbin, c.conrelid))
        else format('select count(*)::int as rows from only %s x where not (%s) and not exists (select from %s y where %s)',
          c.conrelid::regclass,
          (select string_agg(format('x.%I is null', a.attname), ' or ') from pg_attribute a
            where a.attrelid = c.conrelid and a.attnum = any (c.conkey)),
          c.confrelid::regclass,
          (select string_agg(format('x.%I = y.%I', a.attname, b.attname), ' and ')
            from unnest(c.conkey, c.confkey) as k (mine, theirs)
            join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.mine
            join pg_attribute b on b.attrelid = c.confrelid and b.attnum = k.theirs))
      end as query
    from pg_constraint c join pg_namespace n on n.oid = c.connamespace
    where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.contype in ('c', 'f') and c.conrelid <> 0`;
  const broken: string[] = [];
  for (const { name, table, query } of constraints) {
    const [found] = await sql.unsafe<{ rows: number }[]>(query);
    if (found && found.rows > 0) broken.push(`${found.rows} rows of ${table} break ${name}`);
  }
  return broken;
}
