import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { installExtensions } from "../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../local/platform/bootstrap-platform.ts";
import { applyMigrations } from "../../local/stack/apply-migrations.ts";
import { readEverything } from "../support/database/everything.ts";
import { migrationUrlOf } from "../support/database/migration-url.ts";
import { onServer } from "../support/database/make-template.ts";

// The migrations go into a project whose app has tables, functions, buckets and grants of its own, under the names we would like.

const APP = `
  create table public.projects (id bigint generated always as identity primary key, name text not null, owner uuid default auth.uid());
  insert into public.projects (name, owner) values ('The app''s own', null);
  alter table public.projects enable row level security;
  create policy read_own on public.projects for select to authenticated using (owner = auth.uid() or owner is null);
  create policy add_own on public.projects for insert to authenticated with check (owner = auth.uid());
  create table public.predictions (id text primary key, note text);
  insert into public.predictions values ('p1', 'rain');
  create function public.health() returns text language sql as $$ select 'the app is well' $$;
  create schema private;
  create table private.settings (theme text);
  insert into private.settings values ('dark');
  create type public.delivery_status as enum ('packed', 'shipped');
  insert into storage.buckets (id, name, public) values ('generations', 'generations', true);
  create policy generations_of_the_app on storage.objects for select to anon using (bucket_id = 'generations');
  select cron.schedule('nightly', '0 3 * * *', 'select 1');
  select vault.create_secret('the app''s', 'kick_secret', '');
`;

const name = `keyframe_beside_${crypto.randomUUID().slice(0, 8)}`;
const server = inject("stack").databaseUrl;
const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
let sql: postgres.Sql;
let before: string[];
const migrate = () => applyMigrations(migrationUrlOf(url), join(inject("stack").dataDir, "cli-home"));
/** Runs something as a role of the Data API, signed in as nobody in particular. */
const as = <T>(role: string, work: (sql: postgres.TransactionSql) => Promise<T>) =>
  sql.begin(async (transaction) => {
    await transaction.unsafe(`set local role ${role}`);
    await transaction`select set_config('request.jwt.claims', '{"sub": "9d1b6c1e-3f0a-4a4f-8a6e-2f5a3c0f7d11"}', true)`;
    return await work(transaction);
  });

beforeAll(async () => {
  await onServer(server, (admin) => admin.unsafe(`create database ${name}`));
  sql = postgres(url, { max: 2, onnotice: () => undefined });
  await bootstrapPlatform(sql);
  await installExtensions(sql, { useReal: false });
  await onServer(migrationUrlOf(url), (app) => app.unsafe(APP));
  before = await readEverything(sql);
  await migrate();
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await onServer(server, (admin) => admin.unsafe(`drop database if exists ${name} with (force)`));
});

test("installed beside an app → its tables, policies and functions answer as before", async () => {
  const rows = await as("authenticated", async (user) => {
    await user`insert into public.projects (name) values ('A new one')`;
    return await user`select name from public.projects order by name`;
  });
  expect([...rows]).toEqual([{ name: "A new one" }, { name: "The app's own" }]);
  expect(await as("anon", async (nobody) => [...(await nobody`select public.health() as said`)])).toEqual([
    { said: "the app is well" },
  ]);
  expect([...(await sql`select theme from private.settings`)]).toEqual([{ theme: "dark" }]);
  expect([...(await sql`select public from storage.buckets where id = 'generations'`)]).toEqual([{ public: true }]);
});

test("what the app creates in public afterwards → has the same default grants as before", async () => {
  await onServer(migrationUrlOf(url), (app) =>
    app.unsafe(`
      create table public.later (id bigint generated always as identity primary key, note text);
      create function public.later_function() returns int language sql as 'select 1'`),
  );
  for (const role of ["anon", "authenticated", "service_role"]) {
    const rows = await as(role, async (caller) => {
      await caller`insert into public.later (note) values (${role})`;
      return await caller`select public.later_function() as one`;
    });
    expect([...rows]).toEqual([{ one: 1 }]);
  }
  await sql`drop table public.later`;
  await sql`drop function public.later_function()`;
});

test("what is added outside our three schemas → bears our name, and nothing of the app's has changed", async () => {
  const after = await readEverything(sql);
  expect(before.filter((entry) => !after.includes(entry))).toEqual([]);
  const added = after.filter((entry) => !before.includes(entry));
  expect(added.length).toBeGreaterThan(100);
  const ours = /^(bucket projects|(\w+|policy storage objects|published \S+) keyframe)/;
  expect(added.filter((entry) => !ours.test(entry))).toEqual([]);
});

test("removed by tools/install/remove.sql → the database is as it was before", async () => {
  const removal = await Deno.readTextFile(new URL("../../tools/install/remove.sql", import.meta.url));
  // Storage deletes buckets through its API only, which the page does in Studio.
  await sql.begin(async (admin) => {
    await admin`select set_config('storage.allow_delete_query', 'true', true)`;
    await admin`delete from storage.buckets where id in ('projects', 'keyframe-outputs')`;
  });
  await onServer(migrationUrlOf(url), (app) => app.unsafe(removal));
  expect(await readEverything(sql)).toEqual(before);
});

test("a bucket of the app has one of our names → refused with its name before anything is written", async () => {
  await sql`delete from supabase_migrations.schema_migrations`;
  await sql`insert into storage.buckets (id, name, public) values ('projects', 'projects', true)`;
  await expect(migrate()).rejects.toThrow(/bucket projects exists already/);
  expect([...(await sql`select public from storage.buckets where id = 'projects'`)]).toEqual([{ public: true }]);
  expect([...(await sql`select nspname from pg_namespace where nspname like 'keyframe%'`)]).toEqual([]);
}, 120_000); // the CLI starts slowly on a busy machine
