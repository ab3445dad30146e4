import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";

// What an administrator meets in Studio says what it is, in a sentence.

const db = useDatabase();
const OURS = ["keyframe", "keyframe_worker", "keyframe_private"];

/**
 * Each object of a kind, with its comment. The triggers of a function that returns trigger say what it does, and a table what a column of a
 * view is that has the name of one of its own. id, created_at and updated_at need none.
 */
const KINDS: Record<string, string> = {
  schema: `
    select nspname as name, obj_description(oid, 'pg_namespace') as comment from pg_namespace where nspname = any ($1)`,
  "table and view": `
    select oid::regclass::text as name, obj_description(oid, 'pg_class') as comment from pg_class
    where relkind in ('r', 'v') and relnamespace::regnamespace::text = any ($1)`,
  column: `
    select format('%s.%s', c.oid::regclass, attname) as name, col_description(c.oid, attnum) as comment
    from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
    where relkind in ('r', 'v') and relnamespace::regnamespace::text = any ($1)
      and attname not in ('id', 'created_at', 'updated_at') and not (relkind = 'v' and exists (
      select from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_attribute a on a.attrelid = d.refobjid and a.attname = pg_attribute.attname
      where r.ev_class = c.oid and d.refobjid <> c.oid and d.classid = 'pg_rewrite'::regclass))`,
  type: `
    select oid::regtype::text as name, obj_description(oid, 'pg_type') as comment from pg_type
    where typtype in ('e', 'd') and typnamespace::regnamespace::text = any ($1)`,
  trigger: `
    select format('%s of %s', tgname, c.oid::regclass) as name, obj_description(t.oid, 'pg_trigger') as comment
    from pg_trigger t join pg_class c on c.oid = tgrelid
    where not tgisinternal and relnamespace::regnamespace::text = any ($1)`,
  policy: `
    select format('%s of %s', polname, c.oid::regclass) as name, obj_description(p.oid, 'pg_policy') as comment
    from pg_policy p join pg_class c on c.oid = polrelid
    where relnamespace::regnamespace::text = any ($1)`, // a policy on a table of Storage can have none: its owner would have to write it
  function: `
    select oid::regprocedure::text as name, obj_description(oid, 'pg_proc') as comment from pg_proc
    where prorettype <> 'trigger'::regtype and pronamespace::regnamespace::text = any ($1)`,
};

test.each(Object.entries(KINDS))("every %s of ours → has a comment, a sentence", async (_, query) => {
  const objects = await db.sql.unsafe<{ name: string; comment: string | null }[]>(query, [OURS]);
  expect(objects.length).toBeGreaterThan(1);
  expect(objects.filter(({ comment }) => !/^.{8,}[.…]$/s.test(comment ?? ""))).toEqual([]);
});
