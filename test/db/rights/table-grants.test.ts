import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

// Which rows, tables and columns a role reads and writes: test/security/rest-tricks.test.ts and columns-sql.test.ts. Here, what all tables
// have. The policies themselves are in supabase/schemas/98_policies.sql.

const db = useDatabase();

test("every table and view in our schemas → has row-level security; a view has the rights of its reader", async () => {
  const tables = await db.sql<{ name: string; secured: boolean }[]>`
    select oid::regclass::text as name,
      case relkind when 'v' then coalesce(reloptions @> '{security_invoker=true}', false) else relrowsecurity end as secured
    from pg_class
    where relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and relkind in ('r', 'p', 'v', 'm', 'f')`;
  expect(tables.filter(({ secured }) => !secured)).toEqual([]);
});

test("the policies for changes → allow only one's own rows, before and after the change", async () => {
  const own = "%owner_id = ( SELECT keyframe_private.caller_id() AS caller_id)%";
  const open = await db.sql`
    select policyname from pg_policies
    where schemaname = 'keyframe' and (cmd in ('UPDATE', 'DELETE') and qual not like ${own}
      or cmd in ('INSERT', 'UPDATE') and with_check not like ${own})`;
  expect([...open]).toEqual([]);
});

test("a table that a later migration creates in our schemas → is closed until a migration grants access", async () => {
  await rolledBack(db.sql, async (sql) => {
    await sql`select set_config('role', tableowner, true) from pg_tables where schemaname = 'keyframe' and tablename = 'projects'`;
    await sql.unsafe(`
      create table keyframe.later (id bigserial);
      create table keyframe_worker.later (id int);
      create table keyframe_private.later (id int)`);
    const open = await sql`
      select role, s as schema from unnest(array['anon', 'authenticated', 'service_role']) as role,
        unnest(array['keyframe', 'keyframe_worker', 'keyframe_private']) as s
      where has_table_privilege(role, s || '.later', 'select, insert, update, delete')
        or has_sequence_privilege(role, 'keyframe.later_id_seq', 'usage, select, update')`;
    expect([...open]).toEqual([]);
  });
});
