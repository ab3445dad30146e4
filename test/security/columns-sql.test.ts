import type { TransactionSql } from "postgres";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { refusalOf } from "../support/database/refusal.ts";
import { columnsOf, mayDelete, permitted, ROLES, TABLES, type Verb, VERBS } from "../support/security/columns.ts";

// Each column by itself, tried as each role in Postgres. What rows a role sees: test/db/table-grants.test.ts.

const db = useDatabase();

/** Privileges are checked before the first row, so a statement without rows shows them. `text` casts to anything. */
const STATEMENT: Record<Verb, (table: string, column: string, type: string) => string> = {
  select: (table, column) => `select ${column} from ${table} limit 0`,
  insert: (table, column, type) => `insert into ${table} (${column}) select null::${type} where false`,
  update: (table, column, type) => `update ${table} set ${column} = null::${type} where false`,
};

type Column = { table: string; kind: string; column: string; type: string };

const catalogue = () => db.sql<Column[]>`
  select n.nspname || '.' || c.relname as table, c.relkind as kind, a.attname as column, format_type(a.atttypid, a.atttypmod) as type
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private') and c.relkind in ('r', 'p', 'v', 'm', 'f') and a.attnum > 0 and not a.attisdropped
  order by 1, 2`;

test("every column of every table and view → stands in the specification", async () => {
  const found: Record<string, string[]> = {};
  for (const { table, column } of await catalogue()) found[table] = [...(found[table] ?? []), column].toSorted();
  expect(found).toEqual(Object.fromEntries(Object.entries(TABLES).map(([name, table]) => [name, columnsOf(table)])));
});

async function isAllowed(sql: TransactionSql, statement: string): Promise<boolean> {
  const tried = sql.savepoint((inner) => inner.unsafe(statement));
  return await tried.then(
    () => true,
    async (error) => {
      const { sqlstate, message } = await refusalOf(Promise.reject(error));
      // What Postgres numbers itself, and a view of more than one table, is written by nobody: said before grants are looked at.
      if (["428C9", "55000", "0A000"].includes(sqlstate)) return false;
      expect([statement, sqlstate, message]).toEqual([statement, "42501", expect.stringMatching(/^permission denied/)]);
      return false;
    },
  );
}

describe.each(ROLES)("as %s", (role) => {
  test.each(Object.entries(TABLES))(
    "%s → each column can be used as specified and not otherwise",
    async (name, table) => {
      const columns = (await catalogue()).filter((one) => one.table === name);
      await db.as({ role, sub: crypto.randomUUID() }, async (sql) => {
        for (const verb of VERBS) {
          const allowed: string[] = [];
          for (const { column, type } of columns) {
            if (await isAllowed(sql, STATEMENT[verb](name, column, type))) allowed.push(column);
          }
          expect([verb, allowed.toSorted()]).toEqual([verb, permitted(table, role, verb)]);
        }
        expect(await isAllowed(sql, `delete from ${name} where false`)).toBe(mayDelete(table, role));
        if (columns[0]?.kind === "r") expect(await isAllowed(sql, `truncate ${name}`)).toBe(false);
      });
    },
  );
});

test("no table, view or sequence → belongs to a role of the API or is granted with the right to grant on", async () => {
  const rows = await db.sql`
    select c.oid::regclass::text as name from pg_class c
    left join lateral aclexplode(c.relacl) g on true
    where c.relnamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace, 'keyframe_private'::regnamespace)
      and (g.is_grantable and g.grantee <> c.relowner or g.grantee = 0
        or pg_get_userbyid(c.relowner) in ('anon', 'authenticated', 'service_role', 'authenticator'))`;
  expect([...rows]).toEqual([]);
});

test("views and foreign tables, which would pass by row-level security → there are none in the exposed schema", async () => {
  const rows = await db.sql`
    select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('v', 'm', 'f')`;
  expect([...rows]).toEqual([]);
});

test("publications → carry predictions alone, whose changes Realtime filters by the table's policies", async () => {
  const rows = await db.sql<{ tablename: string }[]>`
    select distinct tablename from pg_publication_tables where schemaname in ('keyframe', 'keyframe_worker', 'keyframe_private')`;
  expect(rows.map(({ tablename }) => tablename)).toEqual(["predictions"]);
});

test("the roles of the API → none is a superuser, passes by row-level security unasked or inherits another", async () => {
  const rows = await db.sql`
    select rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls from pg_roles
    where rolname in ('anon', 'authenticated', 'service_role') order by 1`;
  const plain = { rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolreplication: false };
  expect([...rows]).toEqual([
    { rolname: "anon", ...plain, rolbypassrls: false },
    { rolname: "authenticated", ...plain, rolbypassrls: false },
    { rolname: "service_role", ...plain, rolbypassrls: true },
  ]);
  const members = await db.sql`
    select r.rolname as member, g.rolname as of from pg_auth_members m
    join pg_roles r on r.oid = m.member join pg_roles g on g.oid = m.roleid
    where r.rolname in ('anon', 'authenticated', 'service_role')`;
  expect([...members]).toEqual([]);
});
