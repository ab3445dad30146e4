import { cp } from "node:fs/promises";
import { join } from "node:path";
import type postgres from "postgres";
import { expect, inject, onTestFinished, test } from "vitest";
import { installExtensions } from "../../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../../local/platform/bootstrap-platform.ts";
import { applyMigrations } from "../../../local/stack/apply-migrations.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { readMigrations } from "../../../local/stack/read-migrations.ts";
import { readSchemas, releaseLine, writeVersionMigration } from "../../../tools/version-migration.ts";
import { type ClonedDatabase, useDatabase } from "../../support/database/clone-database.ts";
import { readEverything } from "../../support/database/everything.ts";
import { onServer } from "../../../local/postgres/on-server.ts";
import { migrationUrlOf } from "../../support/database/migration-url.ts";
import { addWorld, seedPrediction } from "../../support/database/predictions.ts";
import { readRights } from "../../support/database/rights.ts";

const db = useDatabase("shipped limits");
const older = useDatabase();

/** Each object of our schemas, and ours elsewhere, as text that says all about it but its rights. Only the kind of white space does not count. */
const DEFINITIONS = `
  with ours as (select oid, nspname from pg_namespace where nspname in ('keyframe', 'keyframe_worker', 'keyframe_private')),
  relations as (select c.* from pg_class c join ours on ours.oid = relnamespace where relkind in ('r', 'v'))
  select concat_ws(' ', 'table', oid::regclass, relkind, relpersistence, relrowsecurity, reloptions) from relations
  union all select concat_ws(' ', 'column', attrelid::regclass, row_number() over (partition by attrelid order by attnum), attname, format_type(atttypid, atttypmod),
    attnotnull, attidentity, attgenerated, pg_get_expr(adbin, adrelid))
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attnum > 0 and not attisdropped and attrelid in (select oid from relations union select typrelid from pg_type join ours on ours.oid = typnamespace)
  union all select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint where conrelid in (select oid from relations)
  union all select 'index ' || pg_get_indexdef(indexrelid) from pg_index where indrelid in (select oid from relations)
  union all select 'trigger ' || pg_get_triggerdef(t.oid) || tgenabled::text from pg_trigger t where tgrelid in (select oid from relations) and not tgisinternal
  union all select 'view ' || oid::regclass || pg_get_viewdef(oid) from relations where relkind = 'v'
  union all select 'function ' || pg_get_functiondef(p.oid) from pg_proc p join ours on ours.oid = pronamespace where prokind <> 'a'
  union all select format('type %s %s', t.oid::regtype, array(select enumlabel from pg_enum where enumtypid = t.oid order by enumsortorder))
    from pg_type t join ours on ours.oid = typnamespace
  union all select format('comment %s %s', identity, description) from pg_description, pg_identify_object(classoid, objoid, objsubid) where schema in (select nspname from ours)
    or classoid = 'pg_namespace'::regclass and objoid in (select oid from ours) or classoid in ('pg_trigger'::regclass, 'pg_policy'::regclass) and identity ~ 'keyframe'
  union all select concat_ws(' ', 'policy', schemaname, tablename, policyname, permissive, roles, cmd, qual, 'check', with_check) from pg_policies
    where schemaname in (select nspname from ours) or policyname like 'keyframe%'
  union all select concat_ws(' ', 'job', jobname, schedule, command, active) from cron.job where jobname like 'keyframe%'
  union all select concat_ws(' ', 'bucket', id, public, file_size_limit, allowed_mime_types) from storage.buckets
  union all select concat_ws(' ', 'published', pubname, schemaname, tablename) from pg_publication_tables where schemaname in (select nspname from ours)`;

/** Our schemas and what we have elsewhere, with all rights, sorted. */
async function readDefinitions(sql: postgres.Sql): Promise<string[]> {
  const objects = await sql.unsafe<{ entry: string }[]>(`select entry from (${DEFINITIONS}) d (entry)`);
  return [...objects.map(({ entry }) => entry.replace(/\s+/g, " ")), ...(await readRights(sql))].toSorted();
}

/** The rows of our tables, sorted. */
async function readRows(sql: postgres.Sql): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private')`;
  const read = tables.map(({ name }) =>
    sql.unsafe<{ row: string }[]>(`select '${name} ' || to_jsonb(t)::text as row from ${name} t`),
  );
  return (await Promise.all(read))
    .flat()
    .map(({ row }) => row)
    .toSorted();
}

/** A database on which nothing but these were run, each in one transaction, as the role that runs migrations. */
async function madeOf(...texts: string[]): Promise<{ definitions: string[]; rows: string[] }> {
  const { databaseUrl } = inject("stack");
  const name = `keyframe_made_${crypto.randomUUID().slice(0, 8)}`;
  await onServer(databaseUrl, (sql) => sql.unsafe(`create database ${name}`));
  const url = Object.assign(new URL(databaseUrl), { pathname: `/${name}` }).href;
  try {
    return await onServer(url, async (sql) => {
      await bootstrapPlatform(sql);
      await installExtensions(sql, { useReal: false });
      await onServer(migrationUrlOf(url), async (owner) => {
        for (const text of texts) await owner.begin((each) => each.unsafe(text));
      });
      return { definitions: await readDefinitions(sql), rows: await rowsOf(sql) };
    });
  } finally {
    await onServer(databaseUrl, (sql) => sql.unsafe(`drop database ${name} with (force)`));
  }
}

/** Without `installation`, which has a row for each version. */
const rowsOf = async (sql: ClonedDatabase["sql"]) =>
  (await readRows(sql)).filter((row) => !row.startsWith("keyframe_private.installation "));
const schemasOf = async (root: string) => (await readSchemas(root)).map(({ text }) => text).join("");

test("a database made from supabase/schemas → equals the one that the migrations make, with all rights and rows", async () => {
  expect(await madeOf(await schemasOf(PROJECT_ROOT))).toEqual({
    definitions: await readDefinitions(db.sql),
    rows: await rowsOf(db.sql),
  });
});

test("a new version with another column and function → upgrades a database to what its schemas make; settings and rows stay", async () => {
  const root = await copyReleased();
  const edit = async (path: string, change: (text: string) => string) =>
    await Deno.writeTextFile(join(root, path), change(await Deno.readTextFile(join(root, path))));
  const added = `create function keyframe.list_directors()
returns setof text language plpgsql stable set search_path = '' as 'begin return next ''Ada''; end';
comment on function keyframe.list_directors is 'Who directs.';
`;
  await edit("supabase/schemas/05_requests/10_oauth_clients.sql", (text) =>
    text.replace(/(create table keyframe_private.allowed_clients [^;]*)\n\);/, "$1,\n  note text\n);"),
  );
  await edit("supabase/schemas/05_requests/60_acting_servers.sql", (text) => `${text}\n${added}`);
  const grant = "grant execute on function keyframe.list_directors to authenticated;\n";
  await edit("supabase/schemas/99_rights.sql", (text) => `${text}${grant}`);
  const file = join("supabase/migrations", await writeVersionMigration(root, new Date()));
  const byHand = `alter table keyframe_private.allowed_clients add note text;\n${added}`;
  await edit(file, (text) => text.replace("\n\n", `\n\n${byHand}\n`));

  await older.sql`update keyframe_private.settings set max_active_per_owner = 9`;
  await older.sql`update keyframe.step_defaults set model = 'google/veo-3.1' where step = 'video'`;
  await seedPrediction(older.sql, await addWorld(older), { status: "succeeded" });
  const before = await rowsOf(older.sql);
  await applyMigrations(migrationUrlOf(older.url), join(inject("stack").dataDir, "cli-home"), undefined, root);

  expect(await readDefinitions(older.sql)).toEqual((await madeOf(await schemasOf(root))).definitions);
  expect(await rowsOf(older.sql)).toEqual(before);
  expect(await readDefinitions(older.sql)).toContain("function keyframe.list_directors() authenticated EXECUTE");
}); // the CLI starts slowly on a busy machine

/** A folder with our SQL, whose every version is released, and the version 99.0.0 begun. */
async function copyReleased(): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "keyframe-released-" });
  onTestFinished(() => Deno.remove(root, { recursive: true }));
  for (const path of ["supabase/schemas", "supabase/migrations", "supabase/config.toml", "shared/platform"]) {
    await cp(join(PROJECT_ROOT, path), join(root, path), { recursive: true });
  }
  await Deno.writeTextFile(join(root, "package.json"), '{"version": "99.0.0"}');
  const headings = (await readMigrations()).map(({ name, file, text }) => {
    const version = name.replace("keyframe_", "").replaceAll("_", ".");
    return `## [${version}]\n\n${releaseLine({ file, text })}\n`;
  });
  await Deno.writeTextFile(join(root, "CHANGELOG.md"), headings.join("\n"));
  return root;
}

test("a migration was edited after it was applied → npm start says to reset, although the CLI finds nothing to do", async () => {
  await db.sql`update supabase_migrations.schema_migrations set statements[1] = statements[1] || ' -- edited' where name = 'keyframe_0_1_0'`;
  const apply = applyMigrations(migrationUrlOf(db.url), join(inject("stack").dataDir, "cli-home"));
  await expect(apply).rejects.toThrow(/another version of the migrations.*--reset/);
  await db.sql`update supabase_migrations.schema_migrations set statements[1] = replace(statements[1], ' -- edited', '') where name = 'keyframe_0_1_0'`;
});

test("the local stack starts again on the migrated database → everything is as the migrations left it", async () => {
  const before = await readEverything(db.sql);
  expect(before.filter((entry) => entry.startsWith("default grants")).length).toBeGreaterThan(0); // what later tables get
  await bootstrapPlatform(db.sql, {});
  await installExtensions(db.sql, { useReal: false });
  expect(await readEverything(db.sql)).toEqual(before);
});
