import type postgres from "postgres";
import type { Row } from "./predictions.ts";

type Values = Record<string, unknown>;

// What the row form of hosted Studio sends, read in its public source (RowEditor.utils.ts and Query.utils.ts of supabase/supabase):
// docs/administer.md has the rules. Every statement runs as postgres.

const columnsOf = (sql: postgres.TransactionSql, table: string) => sql<{ name: string; type: string; value: string }[]>`
  select attname as name, format_type(atttypid, atttypmod) as type, pg_get_expr(adbin, adrelid) as value
  from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
  where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`;

/** Insert row → Save, with what a person has typed: the rest is left out, except for a boolean that has a default. */
export const insertByForm = (sql: postgres.Sql, table: string, typed: Values): Promise<Row> =>
  asPostgres(sql, async (transaction) => {
    const values = { ...typed };
    for (const { name, type, value } of await columnsOf(transaction, table)) {
      if (type === "boolean" && value !== null && !(name in typed)) values[name] = value === "true";
    }
    const columns = transaction(Object.keys(values));
    return await transaction<Row[]>`
      insert into ${transaction.unsafe(table)} (${columns})
      select ${columns} from jsonb_populate_recordset(null::${transaction.unsafe(table)}, ${JSON.stringify([values])}::text::jsonb)
      returning *`;
  });

/** Edit row → Save: what differs is sent, and every JSON field, changed or not. */
export const updateByForm = (sql: postgres.Sql, table: string, key: Record<string, string>, changed: Values) =>
  asPostgres(sql, async (transaction) => {
    const identity = Object.values(key);
    const where = Object.keys(key)
      .map((name, at) => `${name}::text = $${at + 1}`)
      .join(" and ");
    const [row] = await transaction.unsafe<Row[]>(`select * from ${table} where ${where}`, identity);
    const json = (await columnsOf(transaction, table)).filter(({ type }) => type === "jsonb");
    const values = { ...Object.fromEntries(json.map(({ name }) => [name, row?.[name]])), ...changed };
    const columns = Object.keys(values).join(", ");
    return await transaction.unsafe<Row[]>(
      `update ${table} set (${columns}) = (select ${columns} from json_populate_record(null::${table}, $${identity.length + 1}::text::json))
       where ${where} returning *`,
      [...identity, JSON.stringify(values)],
    );
  });

async function asPostgres(
  sql: postgres.Sql,
  work: (transaction: postgres.TransactionSql) => Promise<Row[]>,
): Promise<Row> {
  const row = await sql.begin(async (transaction) => {
    await transaction`set local role postgres`;
    return (await work(transaction))[0];
  });
  if (!row) throw new Error("No row came back.");
  return row;
}
