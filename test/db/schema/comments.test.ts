import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";

// What people meet in Studio and in the Data API says what it is, in a sentence. Of the private schema, tables and types do: its other names
// speak for themselves, or have a comment in the source.

const db = useDatabase();
const ALL = ["keyframe", "keyframe_worker", "keyframe_private"];
const EXPOSED = ["keyframe", "keyframe_worker"];

/** Each object of a kind, with its comment. id, created_at and updated_at need none. */
const KINDS: [kind: string, schemas: string[], query: string][] = [
  [
    "schema",
    ALL,
    `select nspname as name, obj_description(oid, 'pg_namespace') as comment from pg_namespace where nspname = any ($1)`,
  ],
  [
    "table and view",
    ALL,
    `select oid::regclass::text as name, obj_description(oid, 'pg_class') as comment from pg_class
    where relkind in ('r', 'v') and relnamespace::regnamespace::text = any ($1)`,
  ],
  [
    "type",
    ALL,
    `select oid::regtype::text as name, obj_description(oid, 'pg_type') as comment from pg_type
    where typtype in ('e', 'd') and typnamespace::regnamespace::text = any ($1)`,
  ],
  [
    "exposed column",
    EXPOSED,
    `select format('%s.%s', c.oid::regclass, attname) as name, col_description(c.oid, attnum) as comment
    from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
    where relkind in ('r', 'v') and relnamespace::regnamespace::text = any ($1) and attname not in ('id', 'created_at', 'updated_at')`,
  ],
  [
    "exposed function",
    EXPOSED,
    `select oid::regprocedure::text as name, obj_description(oid, 'pg_proc') as comment from pg_proc
    where pronamespace::regnamespace::text = any ($1)`,
  ],
];

test.each(KINDS)("every %s of our schemas → has a comment that is a sentence", async (_, schemas, query) => {
  const objects = await db.sql.unsafe<{ name: string; comment: string | null }[]>(query, [schemas]);
  expect(objects.length).toBeGreaterThan(1);
  expect(objects.filter(({ comment }) => !/^.{8,}[.…]$/s.test(comment ?? ""))).toEqual([]);
});
