import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";

// Who may execute which function is in supabase/schemas/99_rights.sql. These are its rules.

const db = useDatabase();

type Found = {
  name: string;
  roles: string[];
  definer: boolean;
  settings: string[] | null;
  owner: string;
  open: boolean;
};
const functions = () => db.sql<Found[]>`
  select n.nspname || '.' || p.proname as name, p.prosecdef as definer, p.proconfig as settings, pg_get_userbyid(p.proowner) as owner,
    array(select r from unnest(array['anon', 'authenticated', 'service_role']) as r where has_function_privilege(r, p.oid, 'execute')) as roles,
    exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) where grantee = 0) as open
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname in ('keyframe', 'keyframe_worker', 'keyframe_private')`;

test("every function in our schemas → closed to public; health alone is open without a session; workers' need the secret key", async () => {
  const found = await functions();
  expect(found.filter(({ open }) => open)).toEqual([]); // public, whose rights every new role has
  expect(found.filter(({ roles }) => roles.includes("anon")).map(({ name }) => name)).toEqual(["keyframe.health"]);
  const workers = found.filter(({ name }) => name.startsWith("keyframe_worker."));
  expect(workers.filter(({ roles }) => roles.join() !== "service_role")).toEqual([]);
});

test("every function in our schemas → has an empty search_path, so that no other table can replace one of ours", async () => {
  expect((await functions()).filter(({ settings }) => !settings?.includes('search_path=""'))).toEqual([]);
});

test("the private functions that users may execute → only those that policies, checks and indexes call", async () => {
  const others = await db.sql`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace = 'keyframe_private'::regnamespace and has_function_privilege('authenticated', p.oid, 'execute')
      and not exists (
        select from pg_depend d where d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
          and d.classid in ('pg_policy'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass))`;
  expect([...others]).toEqual([]);
});

test("the functions of the API → are security definers, so that their callers need no right on tables or other functions", async () => {
  const invokers = (await functions()).filter(({ name, definer }) => name.startsWith("keyframe.") && !definer);
  expect(invokers).toEqual([]);
});

test("raise_error → is volatile: supabase db lint plans an immutable function and takes its error for one of the caller", async () => {
  const [found] = await db.sql`select provolatile from pg_proc where proname = 'raise_error'`;
  expect(found).toEqual({ provolatile: "v" });
});

test("our security definer functions → belong to the role that runs migrations, not to an API role", async () => {
  const owners = new Set((await functions()).filter(({ definer }) => definer).map(({ owner }) => owner));
  expect(owners.size).toBe(1);
  for (const role of ["anon", "authenticated", "service_role", "authenticator"]) expect(owners).not.toContain(role);
});

test("the schema keyframe_private → closed to anon; no role of the API may create objects in any of our schemas", async () => {
  const rows = await db.sql`
    select r as role, has_schema_privilege(r, 'keyframe_private', 'usage') as usage,
      (select bool_or(has_schema_privilege(r, s, 'create')) from unnest(array['keyframe', 'keyframe_worker', 'keyframe_private']) as s) as creates
    from unnest(array['anon', 'authenticated', 'service_role']) as r`;
  expect([...rows]).toEqual([
    { role: "anon", usage: false, creates: false },
    { role: "authenticated", usage: true, creates: false },
    { role: "service_role", usage: true, creates: false },
  ]);
});
