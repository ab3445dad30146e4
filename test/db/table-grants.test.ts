import { expect, test } from "vitest";
import { useDatabase } from "../support/database/clone-database.ts";
import { rolledBack } from "../support/database/rolled-back.ts";

// Which rows, tables and columns a role reads and writes: test/security/rest-tricks.test.ts and columns-sql.test.ts. Here, what all tables have.

const db = useDatabase();

test("every table and view of our schemas → has row-level security; a view the rights of who looks", async () => {
  const tables = await db.sql<{ name: string; secured: boolean }[]>`
    select oid::regclass::text as name,
      case relkind when 'v' then coalesce(reloptions @> '{security_invoker=true}', false) else relrowsecurity end as secured
    from pg_class
    where relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and relkind in ('r', 'p', 'v', 'm', 'f')`;
  expect(tables.filter(({ secured }) => !secured)).toEqual([]);
});

test("the policies → are these and no others", async () => {
  const rows = await db.sql`
    select tablename || '.' || policyname as policy, cmd, roles::text[] as roles from pg_policies
    where schemaname in ('keyframe', 'keyframe_worker', 'keyframe_private', 'storage') order by 1`;
  expect(rows.map(({ policy, cmd, roles }) => `${policy} ${cmd} ${roles}`)).toEqual([
    "films.films_delete_owner DELETE authenticated",
    "films.films_insert_owner INSERT authenticated",
    "films.films_select_owner SELECT authenticated",
    "films.films_update_owner UPDATE authenticated",
    "models.models_select_everyone SELECT authenticated",
    "objects.keyframe_outputs_select_owner SELECT authenticated",
    "objects.keyframe_references_insert_owner INSERT authenticated",
    "objects.keyframe_references_select_owner SELECT authenticated",
    "predictions.predictions_insert_owner INSERT authenticated",
    "predictions.predictions_select_owner SELECT authenticated",
    "projects.projects_delete_owner DELETE authenticated",
    "projects.projects_insert_owner INSERT authenticated",
    "projects.projects_select_owner SELECT authenticated",
    "projects.projects_update_owner UPDATE authenticated",
    "step_defaults.step_defaults_select_everyone SELECT authenticated",
    "webhook_attempts.webhook_attempts_select_owner SELECT authenticated",
    "webhook_deliveries.webhook_deliveries_select_owner SELECT authenticated",
    "webhook_endpoints.webhook_endpoints_select_owner SELECT authenticated",
    "webhook_events.webhook_events_select_owner SELECT authenticated",
  ]);
});

test("the policies for changes → reach the own rows alone, before and after the change", async () => {
  const own = "%owner_id = ( SELECT auth.uid() AS uid)%";
  const open = await db.sql`
    select policyname from pg_policies
    where schemaname = 'keyframe' and (cmd in ('UPDATE', 'DELETE') and qual not like ${own}
      or cmd in ('INSERT', 'UPDATE') and with_check not like ${own})`;
  expect([...open]).toEqual([]);
});

test("a table that a later migration creates in our schemas → is closed until it grants access", async () => {
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
