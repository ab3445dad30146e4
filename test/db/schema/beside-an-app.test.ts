import { join } from "node:path";
import postgres from "postgres";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { installExtensions } from "../../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../../local/platform/bootstrap-platform.ts";
import { applyMigrations, fillVault } from "../../../local/stack/apply-migrations.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { removalSql } from "../../../tools/install/plan-remove.ts";
import { readSource } from "../../../tools/install/source.ts";
import { useDatabase } from "../../support/database/clone-database.ts";
import { readEverything } from "../../support/database/everything.ts";
import { onServer } from "../../../local/postgres/on-server.ts";
import { migrationUrlOf } from "../../support/database/migration-url.ts";
import { readRights } from "../../support/database/rights.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";
import { scalar } from "../../support/database/scalar.ts";

// The migrations go into a project whose app has tables, functions, buckets and grants of its own, under the names we would like,
// which once gave all rights on everything new to everyone, and which has pgcrypto in public.

const APP = `
  alter default privileges grant all on tables to public, anon, authenticated, service_role;
  alter default privileges grant select on tables to supabase_auth_admin;
  alter default privileges grant all on sequences to anon, authenticated, service_role;
  alter default privileges grant all on functions to anon, authenticated, service_role;
  alter default privileges grant all on types to anon, authenticated, service_role;
  alter default privileges grant all on schemas to public, anon, authenticated, service_role;
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
  -- They begin like ours.
  select cron.schedule('keyframe-report', '0 4 * * *', 'select 2');
  select vault.create_secret('the app''s', 'keyframe_token', '');
  select vault.create_secret('the app''s', 'keyframe_webhook_signing', '');
  create schema keyframe_app;
`;

const name = `keyframe_beside_${crypto.randomUUID().slice(0, 8)}`;
const server = inject("stack").databaseUrl;
const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
const usual = useDatabase();
let sql: postgres.Sql;
let before: string[];
const migrate = () => applyMigrations(migrationUrlOf(url), join(inject("stack").dataDir, "cli-home"));
const SOMEBODY = "9d1b6c1e-3f0a-4a4f-8a6e-2f5a3c0f7d11";
/** Runs something as a role of the Data API, with the session of somebody. */
const as = <T>(role: string, work: (sql: postgres.TransactionSql) => Promise<T>) =>
  sql.begin(async (transaction) => {
    await transaction.unsafe(`set local role ${role}`);
    await transaction`
      select set_config('request.jwt.claims', ${JSON.stringify({ sub: SOMEBODY, role: "authenticated" })}, true)`;
    return await work(transaction);
  });

/** As `remove --drop` writes it. */
const removal = async (allowed: string[] = []) => removalSql(await readSource(PROJECT_ROOT), allowed);
const remove = async (allowed: string[] = []) => {
  const text = await removal(allowed);
  await onServer(migrationUrlOf(url), (app) => app.unsafe(text));
};

beforeAll(async () => {
  await onServer(server, (admin) => admin.unsafe(`create database ${name}`));
  sql = postgres(url, { max: 2, onnotice: () => undefined });
  await bootstrapPlatform(sql);
  await installExtensions(sql, { useReal: false });
  await sql.unsafe(`
    alter extension pgcrypto set schema public;
    -- The stand-in for Vault names these; Vault itself has its own.
    create function extensions.pgp_sym_encrypt(text, text, text) returns bytea language sql as 'select public.pgp_sym_encrypt($1, $2, $3)';
    create function extensions.pgp_sym_decrypt(bytea, text) returns text language sql as 'select public.pgp_sym_decrypt($1, $2)'`);
  await onServer(migrationUrlOf(url), (app) => app.unsafe(APP));
  before = await readEverything(sql);
  await migrate();
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await onServer(server, (admin) => admin.unsafe(`drop database if exists ${name} with (force)`));
});

test("Keyframe is installed next to an app → the app's tables, policies and functions answer as before", async () => {
  const rows = await as("authenticated", async (user) => {
    await user`insert into public.projects (name) values ('A new one')`;
    return await user`select name from public.projects order by name`;
  });
  expect([...rows]).toEqual([{ name: "A new one" }, { name: "The app's own" }]);
  expect(await as("anon", (nobody) => scalar(nobody`select public.health()`))).toBe("the app is well");
  expect(await scalar(sql`select theme from private.settings`)).toBe("dark");
  expect(await scalar(sql`select public from storage.buckets where id = 'generations'`)).toBe(true);
});

test("an app's default privileges give everyone all rights → each right on our objects is the same as without them", async () => {
  const rights = await readRights(sql);
  expect(rights).toEqual(await readRights(usual.sql));
  expect(rights).toContain("function keyframe.health() anon EXECUTE");
});

test("pgcrypto is in another schema → secrets are made and kicks are signed", async () => {
  await sql`insert into auth.users (id, email) values (${SOMEBODY}, 'a@keyframe.local')`;
  const made = await as("authenticated", (user) =>
    scalar(user`select keyframe.create_webhook_endpoint('https://receiver.example/hook') ->> 'secret'`),
  );
  expect(made).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const secret = await scalar(sql`select keyframe_private.random_secret()`);
  const address = "http://127.0.0.1:9/functions/v1";
  await fillVault(sql, { keyframe_functions_url: address, keyframe_kick_secret: secret });
  await sql`select keyframe_private.kick('generate')`;
  const [kick] = await sql`select headers, convert_from(body, 'UTF8') as body from net.http_request_queue`;
  expect(new Webhook(secret).verify(kick?.body, kick?.headers)).toEqual({});
  await sql`delete from vault.secrets where name in ('keyframe_functions_url', 'keyframe_kick_secret')`;
  await sql`delete from auth.users where id = ${SOMEBODY}`;
});

test("each object added outside our three schemas → has our name, and none of the app's objects has changed", async () => {
  const after = await readEverything(sql);
  expect(before.filter((entry) => !after.includes(entry))).toEqual([]);
  const added = after.filter((entry) => !before.includes(entry));
  expect(added.length).toBeGreaterThan(100);
  const ours = /^(bucket projects|(\w+|policy storage objects|published \S+) keyframe)/;
  expect(added.filter((entry) => !ours.test(entry))).toEqual([]);
});

/** As a shell takes them. */
const quoteForShell = (names: (string | undefined)[]) =>
  names.map((name) => `'${name?.replaceAll("'", `'\\''`)}'`).join(" --drop ");

/** What an app builds on our schemas, by the names that Postgres gives to it. */
const BUILT: Record<string, string> = {
  "view public.titles": "create view public.titles as select title, text_prompt from keyframe.projects",
  "materialized view public.counted": "create materialized view public.counted as select count(*) from public.titles",
  "table column public.notes.step":
    "create table public.notes (id int primary key, project_id uuid, step keyframe.generation_step default 'video')",
  "table constraint notes_project_id_fkey on public.notes":
    "alter table public.notes add foreign key (project_id) references keyframe.projects on delete cascade",
  "function public.newest()":
    "create function public.newest() returns uuid language sql begin atomic select id from keyframe.projects limit 1; end",
  "function public.describe(keyframe.projects)":
    "create function public.describe(keyframe.projects) returns text language sql as 'select $1.title'",
  "policy notes_of_projects on public.notes":
    "create policy notes_of_projects on public.notes using (exists (select from keyframe.projects p where p.id = project_id))",
  "trigger tell on keyframe.projects":
    "create function public.tell() returns trigger language plpgsql as 'begin return new; end'; create trigger tell after insert on keyframe.projects for each row execute function public.tell()",
  "trigger report on keyframe.projects":
    "create function keyframe_app.report() returns trigger language plpgsql as 'begin return new; end'; create trigger report after insert on keyframe.projects for each row execute function keyframe_app.report()",
  "table column public.drafts.is_short": `create table public.drafts (id int, text text, is_short boolean generated always as (keyframe_private.is_one_line(text)) stored);
    create index on public.drafts (is_short)`,
  "table column public.notes.is_video":
    "alter table public.notes add is_video boolean generated always as (step = 'video') stored",
  "table public.cuts": "create table public.cuts (step keyframe.generation_step, length int) partition by list (step)",
  "table public.cuts_video": "create table public.cuts_video partition of public.cuts for values in ('video')",
  'view public."director\'s cut"': `create view public."director's cut" as select id from keyframe.projects`,
  "publication relation keyframe.projects in publication feed": "create publication feed for table keyframe.projects",
};

test("an app has built on our schemas → remove.sql names its objects and changes nothing; allowed by name → they are removed", async () => {
  const unbuilt = await readEverything(sql);
  await onServer(migrationUrlOf(url), async (app) => {
    for (const statement of Object.values(BUILT)) await app.unsafe(statement);
    await app`insert into public.notes (id, step) values (1, 'video')`;
    await app`create index on public.notes (step)`;
  });
  const built = await readEverything(sql);
  const refusal = String(await remove().catch(String));
  const listed = [...refusal.matchAll(/^- (.*)$/gm)].map(([, name]) => name);
  const names = Object.keys(BUILT);
  expect(listed.sort()).toEqual(names.toSorted());
  expect(refusal).toContain(`remove --yes --drop ${quoteForShell(listed)}`);
  expect(await readEverything(sql)).toEqual(built);

  const [kept = "", ...allowed] = names;
  await expect(remove(allowed)).rejects.toThrow(new RegExp(`go with it:\\n- ${kept}\\nChange`));
  expect(await readEverything(sql)).toEqual(built);
  await rolledBack(sql, async (session) => {
    await session`set local role postgres`;
    await session.unsafe(await removal(names));
    expect([...(await session`select * from public.notes`)]).toEqual([{ id: 1, project_id: null }]);
  });
  await sql.unsafe(`drop publication feed; drop trigger tell on keyframe.projects; drop trigger report on keyframe.projects; drop function keyframe_app.report, public.tell, public.newest, public.describe;
    drop table public.notes, public.drafts; drop materialized view public.counted; drop view public.titles, public."director's cut"; drop table public.cuts`);
  expect(await readEverything(sql)).toEqual(unbuilt);
});

/** Empty schemas have what the app gives to each by default. */
const withoutRights = (entry: string) => entry.replace(/^(schema keyframe(_worker)?) .*/, "$1");

/** Until the Data API exposes them no longer. */
const withEmptySchemas = (entries: string[]) => {
  const left = ["schema keyframe", "schema keyframe_worker"];
  return [...entries, ...left].sort((a, b) => (a < b ? -1 : 1));
};

test("Keyframe is removed by remove.sql → the database is as before, with two empty schemas; a bucket with files stays", async () => {
  await sql`
    insert into cron.job_run_details (jobid, username, status, end_time)
    select jobid, username, 'succeeded', now() from cron.job where jobname in ('keyframe-sweep', 'keyframe-report', 'nightly')`;
  await rolledBack(sql, async (session) => {
    await session`insert into storage.objects (bucket_id, name) values ('keyframe-outputs', 'film.mp4')`;
    await session`set local role postgres`;
    await session.unsafe(await removal());
    const buckets = session`select id from storage.buckets where id in ('projects', 'keyframe-outputs')`;
    expect(await buckets).toEqual([{ id: "keyframe-outputs" }]);
  });
  await remove();
  expect((await readEverything(sql)).map(withoutRights)).toEqual(withEmptySchemas(before.map(withoutRights)));
  const logged = sql`select jobname from cron.job_run_details left join cron.job using (jobid) order by 1`;
  expect(await logged).toEqual([{ jobname: "keyframe-report" }, { jobname: "nightly" }]);
});

test("the migrations run again after a removal → they fill the empty schemas; a schema with objects of the app → refused", async () => {
  await sql`delete from supabase_migrations.schema_migrations`;
  await sql`create table keyframe.notes (id int)`;
  await expect(migrate()).rejects.toThrow(/cannot drop schema keyframe because other objects depend on it/);
  await sql`drop table keyframe.notes`;
  await migrate();
  expect(await readRights(sql)).toEqual(await readRights(usual.sql));
  await remove();
  await remove();
  expect((await readEverything(sql)).map(withoutRights)).toEqual(withEmptySchemas(before.map(withoutRights)));
});

test("remove.sql, with our job under another role → says what to run, removes nothing; with a lost schema → removes the rest", async () => {
  await sql`delete from supabase_migrations.schema_migrations`;
  await migrate();
  const [job] =
    await sql`update cron.job set username = 'supabase_admin' where jobname = 'keyframe-prune' returning jobid`;
  await expect(remove()).rejects.toThrow(
    `its job keyframe-prune is of the role supabase_admin: as that role or a superuser, select cron.unschedule(${job?.jobid})`,
  );
  expect(await scalar(sql`select to_regnamespace('keyframe_private')`)).not.toBeNull();
  for (const lost of ["cron", "vault", "keyframe", "keyframe_worker", "keyframe_private", "net"]) {
    await rolledBack(sql, async (session) => {
      await session`update cron.job set username = 'postgres'`;
      await session.unsafe(`drop schema ${lost} cascade`);
      await session`set local role postgres`;
      await session.unsafe(await removal());
      expect(await scalar(session`select to_regnamespace('keyframe_private')`)).toBeNull();
    });
  }
  await sql`update cron.job set username = 'postgres' where jobname = 'keyframe-prune'`;
  await remove();
});

test("the names in remove.sql → cover every job and secret that Keyframe makes", async () => {
  const text = await removal();
  const jobs = await usual.sql`select string_agg(name, ',') as names from keyframe_private.jobs()`;
  expect(text).toContain(`'{${jobs[0]?.names}}'`);
  await rolledBack(usual.sql, async (session) => {
    await session`insert into keyframe.webhook_endpoints (url) values ('https://receiver.example/hook')`;
    const secrets = await session`select name from vault.secrets where name like 'keyframe%'`;
    const pattern = new RegExp(/our_secrets constant text := '(.*)';/.exec(text)?.[1] ?? "");
    expect(secrets.length).toBeGreaterThan(0);
    for (const { name } of secrets) expect(name).toMatch(pattern);
  });
});

test("the migration history is lost → the migration says how to repair it; a schema is lost → it says what to do", async () => {
  await sql`delete from supabase_migrations.schema_migrations`;
  await migrate();
  await sql`delete from supabase_migrations.schema_migrations`;
  await expect(migrate()).rejects.toThrow(
    /its migration history does not say so\. .*supabase migration repair <.*--status applied/,
  );
  await sql`drop schema keyframe_private cascade`;
  await expect(migrate()).rejects.toThrow(
    /The schema "keyframe(_worker)?", "keyframe(_worker)?" already exists\. .*remove\.sql/,
  );
  await remove();
});

test("an app's bucket has one of our names → refused with its name and what to do, before anything is written", async () => {
  await sql`delete from supabase_migrations.schema_migrations`;
  await sql`insert into storage.buckets (id, name, public) values ('projects', 'projects', true)`;
  await expect(migrate()).rejects.toThrow(
    /bucket projects exists already.*Rename yours.*remains from a removed Keyframe, empty and delete it in Studio/,
  );
  expect(await scalar(sql`select public from storage.buckets where id = 'projects'`)).toBe(true);
  expect(await scalar(sql`select to_regnamespace('keyframe_private')`)).toBeNull();
});
