import type { Sql } from "postgres";
import { type Column, keyOf, type Relation } from "./catalog.ts";

/** Each value as Postgres writes it; JSON on several lines. */
export type Row = Record<string, string | null>;
/** Column → the value to write: null is NULL, what is missing is left as it is or to its default. */
export type Values = Record<string, string | null>;

export const PAGE_ROWS = 50;

/** A page of rows, the newest first where they have `created_at`, and one row more when there is another page. */
export async function readPage(sql: Sql, table: Relation, columns: Column[], page: number): Promise<Row[]> {
  const key = keyOf(columns);
  const order = columns.some(({ name }) => name === "created_at") ? [`"created_at" desc`] : [];
  order.push(...key.map(({ name }) => quote(name)));
  return await sql.unsafe<Row[]>(
    `select ${texts(columns)} from ${nameOf(table)} t ${order.length > 0 ? `order by ${order.map((one) => `t.${one}`)}` : ""}
     limit ${PAGE_ROWS + 1} offset ${page * PAGE_ROWS}`,
  );
}

export async function readRow(sql: Sql, table: Relation, columns: Column[], key: string[]): Promise<Row | undefined> {
  const text = `select ${texts(columns)} from ${nameOf(table)} t where ${isRow(columns)}`;
  return (await sql.unsafe<Row[]>(text, key))[0];
}

/** The statements are those of hosted Studio's form in effect: columns that are not given get their default, or stay. */
export async function insertRow(sql: Sql, table: Relation, columns: Column[], values: Values): Promise<void> {
  const { names, marks, given } = parameters(columns, values, 0);
  const what = names.length > 0 ? `(${names}) values (${marks})` : "default values";
  await sql.unsafe(`insert into ${nameOf(table)} ${what}`, given);
}

/** Returns false when the row is gone, or a trigger kept it from changing. */
export async function updateRow(
  sql: Sql,
  table: Relation,
  columns: Column[],
  key: string[],
  values: Values,
): Promise<boolean> {
  const { names, marks, given } = parameters(columns, values, key.length);
  const set = names.map((name, at) => `${name} = ${marks[at]}`);
  const { count } = await sql.unsafe(`update ${nameOf(table)} t set ${set} where ${isRow(columns)}`, [
    ...key,
    ...given,
  ]);
  return count === 1;
}

export async function deleteRow(sql: Sql, table: Relation, columns: Column[], key: string[]): Promise<boolean> {
  return (await sql.unsafe(`delete from ${nameOf(table)} t where ${isRow(columns)}`, key)).count === 1;
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
const nameOf = ({ schema, name }: Relation) => `${quote(schema)}.${quote(name)}`;

const texts = (columns: Column[]) =>
  columns
    .map(({ name, type }) => {
      const column = `t.${quote(name)}`;
      return `${type === "jsonb" ? `jsonb_pretty(${column})` : `${column}::text`} as ${quote(name)}`;
    })
    .join(", ");

const isRow = (columns: Column[]) =>
  keyOf(columns)
    .map(({ name, type }, at) => `t.${quote(name)} = $${at + 1}::text::${type}`)
    .join(" and ");

/** As texts that Postgres parses, because the driver would convert values of known types. */
function parameters(columns: Column[], values: Values, after: number) {
  const written = columns.filter(({ name }) => name in values);
  return {
    names: written.map(({ name }) => quote(name)),
    marks: written.map(({ type }, at) => `$${after + at + 1}::text::${type}`),
    given: written.map(({ name }) => values[name] ?? null),
  };
}
