import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { installExtensions } from "../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../local/platform/bootstrap-platform.ts";
import { applyMigrations } from "../../local/stack/apply-migrations.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { describeSchema } from "../../tools/describe-schema.ts";
import { useDatabase } from "../support/database/clone-database.ts";
import { readEverything } from "../support/database/everything.ts";
import { migrationUrlOf } from "../support/database/migration-url.ts";
import { addWorld, seedPrediction } from "../support/database/predictions.ts";

const db = useDatabase();

test("docs/schema.sql → is what the migrations make (run `npm run schema` after a change)", async () => {
  // Postgres 15 writes the alias of a view's only table before each column, later ones do not.
  const withoutAliases = (text: string) =>
    text.replace(/^create view [^;]*;/gm, (view) => view.replaceAll(/\b[a-z]\./g, ""));
  const page = await Deno.readTextFile(join(PROJECT_ROOT, "docs/schema.sql"));
  expect(withoutAliases(await describeSchema(db.sql))).toBe(withoutAliases(page));
});

test("a database without the newest migration → gets it; settings and users' rows stay as they are", async () => {
  await db.sql`update keyframe_private.settings set max_active_per_owner = 9`;
  await db.sql`update keyframe.step_defaults set model = 'google/veo-3.1' where step = 'video'`;
  const world = await addWorld(db);
  await seedPrediction(db.sql, world, { status: "succeeded" });
  const settings = () => db.sql`
    select s::text from keyframe_private.settings s
    union all select m::text from keyframe.models m
    union all select l::text from keyframe_private.rate_limits l
    union all select p::text from keyframe.predictions p
    union all select version from keyframe_private.installation
    union all select version from supabase_migrations.schema_migrations order by 1`;
  const before = [await readEverything(db.sql), await describeSchema(db.sql), await settings()];

  await db.sql`delete from supabase_migrations.schema_migrations where version = (select max(version) from supabase_migrations.schema_migrations)`;
  await db.sql`delete from keyframe_private.installation`; // which is what that migration writes
  await applyMigrations(migrationUrlOf(db.url), join(inject("stack").dataDir, "cli-home"));

  expect([await readEverything(db.sql), await describeSchema(db.sql), await settings()]).toEqual(before);
});

test("a migration was edited after it was applied → the start says to reset, although the CLI would find nothing to do", async () => {
  await db.sql`update supabase_migrations.schema_migrations set statements[1] = statements[1] || ' -- edited' where name = 'projects'`;
  const apply = applyMigrations(migrationUrlOf(db.url), join(inject("stack").dataDir, "cli-home"));
  await expect(apply).rejects.toThrow(/other migrations than this checkout's.*--reset/);
  await db.sql`update supabase_migrations.schema_migrations set statements[1] = replace(statements[1], ' -- edited', '') where name = 'projects'`;
});

test("the local stack starts again on the migrated database → everything stays as the migrations left it", async () => {
  const before = await readEverything(db.sql);
  expect(before.filter((entry) => entry.startsWith("default grants")).length).toBeGreaterThan(0); // what later tables get
  await bootstrapPlatform(db.sql, {});
  await installExtensions(db.sql, { useReal: false });
  expect(await readEverything(db.sql)).toEqual(before);
});

describe("what a person meets in Studio has a comment", () => {
  const without = async (query: string) => (await db.sql.unsafe<{ name: string }[]>(query)).map(({ name }) => name);

  test("every table and view", async () => {
    expect(
      await without(`select oid::regclass::text as name from pg_class
        where relkind in ('r', 'p', 'v') and relnamespace::regnamespace::text in ('keyframe', 'keyframe_worker', 'keyframe_private') and obj_description(oid, 'pg_class') is null`),
    ).toEqual([]);
  });

  test("every exposed function and type, and each schema", async () => {
    expect(
      await without(`
        select oid::regprocedure::text as name from pg_proc where pronamespace in ('keyframe'::regnamespace, 'keyframe_worker'::regnamespace) and obj_description(oid, 'pg_proc') is null
        union all
        select oid::regtype::text from pg_type where typnamespace = 'keyframe'::regnamespace and typtype = 'e' and obj_description(oid, 'pg_type') is null
        union all
        select nspname from pg_namespace where nspname like 'keyframe%' and obj_description(oid, 'pg_namespace') is null`),
    ).toEqual([]);
  });

  test("every column of a view, and every one that an administrator edits, but for those whose name says it all", async () => {
    const names =
      await without(`select attrelid::regclass || '.' || attname as name from pg_attribute join pg_class on pg_class.oid = attrelid
      where (relkind = 'v' and relnamespace = 'keyframe_private'::regnamespace or attrelid in ('keyframe.models'::regclass, 'keyframe_private.settings'::regclass))
        and attnum > 0 and col_description(attrelid, attnum) is null`);
    const plain =
      /\.(\w+_id|url|description|enabled|step|model|status|notes|only_row|since_created|predictions|started|succeeded|failed|canceled)$/;
    expect(names.filter((name) => !plain.test(name))).toEqual([]);
  });
});
