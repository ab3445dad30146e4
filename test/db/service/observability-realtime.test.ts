import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { rolledBack } from "../../support/database/rolled-back.ts";

// Hosted Realtime cannot run here. What it goes by is in the database: the publication, the replica identity, and what the
// subscriber may select (test/security/rest-tricks.test.ts). Those are tested; the way through its server is not.

const MIGRATION = new URL("../../../supabase/schemas/30_predictions/80_realtime.sql", import.meta.url);
const db = useDatabase();

test("the Realtime publication → has predictions and no other table of ours; a deletion reveals only the key", async () => {
  const [row] = await db.sql`
    select pubinsert, pubupdate, pubdelete,
      array(select schemaname || '.' || tablename from pg_publication_tables t where t.pubname = p.pubname) as tables,
      (select relreplident from pg_class where oid = 'keyframe.predictions'::regclass) as identity
    from pg_publication p where pubname = 'supabase_realtime'`;
  const all = { pubinsert: true, pubupdate: true, pubdelete: true };
  expect(row).toEqual({ ...all, tables: ["keyframe.predictions"], identity: "d" });
});

test.each<[what: string, before: string, after: string[]]>([
  ["where predictions are published already → nothing changes", "", ["keyframe.predictions"]],
  [
    "on an empty publication → predictions are added",
    "alter publication supabase_realtime drop table keyframe.predictions",
    ["keyframe.predictions"],
  ],
  ["without a publication → none is made", "drop publication supabase_realtime", []],
  [
    "where the publication has all tables anyway → it leaves it alone",
    "drop publication supabase_realtime; create publication supabase_realtime for all tables",
    [expect.stringMatching(/^all of \d\d+$/)],
  ],
])("the migration %s", async (_what, before, after) => {
  const text = await Deno.readTextFile(MIGRATION);
  await rolledBack(db.sql, async (sql) => {
    await sql.unsafe(before);
    // As the role that runs migrations.
    await sql`select set_config('role', tableowner, true) from pg_tables where schemaname = 'keyframe' and tablename = 'predictions'`;
    await sql.unsafe(text);
    const rows = await sql<{ name: string }[]>`
      select case when puballtables then 'all of ' || count(*) else min(schemaname || '.' || tablename) end as name
      from pg_publication p join pg_publication_tables t using (pubname) where pubname = 'supabase_realtime'
      group by puballtables`;
    expect(rows.map(({ name }) => name)).toEqual(after);
  });
});
