import type { Sql } from "postgres";

/** A table or view that the role postgres may read. */
export type Relation = { schema: string; name: string; comment: string; isTable: boolean };

export type Column = {
  name: string;
  /** As `format_type` writes it, such as `text[]` or `keyframe.generation_step`. */
  type: string;
  comment: string;
  isNullable: boolean;
  /** The expression, or null. */
  default: string | null;
  /** Postgres computes it, so no form sends it. */
  isGenerated: boolean;
  /** Its place in the primary key, from 1. */
  keyPlace: number | null;
  /** The labels of an enum. */
  labels: string[] | null;
  /** The table that it refers to. */
  refersTo: { schema: string; name: string } | null;
};

/** Ours first. */
export const listRelations = (sql: Sql): PromiseLike<Relation[]> => sql<Relation[]>`
  select n.nspname as schema, c.relname as name, coalesce(obj_description(c.oid), '') as comment, c.relkind in ('r', 'p') as "isTable"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm') and n.nspname !~ '^(pg_|information_schema$)'
    and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
  order by n.nspname !~ '^keyframe', n.nspname, c.relname`;

export const listColumns = (sql: Sql, { schema, name }: Relation): PromiseLike<Column[]> => sql<Column[]>`
  select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, coalesce(col_description(c.oid, a.attnum), '') as comment,
    not a.attnotnull as "isNullable", pg_get_expr(d.adbin, d.adrelid) as default,
    a.attgenerated <> '' or a.attidentity <> '' as "isGenerated",
    array_position(k.conkey, a.attnum) as "keyPlace",
    (select array_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = a.atttypid) as labels,
    (select jsonb_build_object('schema', fn.nspname, 'name', fc.relname)
     from pg_constraint f join pg_class fc on fc.oid = f.confrelid join pg_namespace fn on fn.oid = fc.relnamespace
     where f.conrelid = c.oid and f.contype = 'f' and a.attnum = any (f.conkey)
     order by cardinality(f.conkey) limit 1) as "refersTo"
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  left join pg_constraint k on k.conrelid = c.oid and k.contype = 'p'
  where n.nspname = ${schema} and c.relname = ${name}
  order by a.attnum`;

/** The columns that name a row; none: it cannot be edited in a form. */
export const keyOf = (columns: Column[]): Column[] =>
  columns
    .filter(({ keyPlace }) => keyPlace !== null)
    .sort((one, other) => Number(one.keyPlace) - Number(other.keyPlace));
