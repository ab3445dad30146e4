import { afterEach, beforeEach, expect, test } from "vitest";
import { type ClonedDatabase, cloneDatabase } from "../support/database/clone-database.ts";
import { addWorld, seedPrediction } from "../support/database/predictions.ts";
import { refusalOf } from "../support/database/refusal.ts";

// Hosted Realtime cannot run here. What it goes by is in the database: the publication, the replica identity, and what the
// subscriber may select. Those are tested; the way through its server is not.

const MIGRATION = new URL("../../supabase/migrations/20261122003000_realtime.sql", import.meta.url);

let db: ClonedDatabase;
beforeEach(async () => {
  db = await cloneDatabase();
});
afterEach(() => db.drop());

const published = async () =>
  (
    await db.sql<{ name: string }[]>`
      select schemaname || '.' || tablename as name from pg_publication_tables where pubname = 'supabase_realtime'`
  ).map(({ name }) => name);
/** As the role that runs migrations. */
const migrate = async () => {
  const text = await Deno.readTextFile(MIGRATION);
  await db.sql.begin(async (sql) => {
    await sql`select set_config('role', tableowner, true) from pg_tables where schemaname = 'keyframe' and tablename = 'predictions'`;
    await sql.unsafe(text);
  });
};

test("a platform with the publication supabase_realtime → predictions are in it, and no other table of ours", async () => {
  expect(await published()).toEqual(["keyframe.predictions"]);
  const [row] = await db.sql`
    select pubinsert, pubupdate, pubdelete from pg_publication where pubname = 'supabase_realtime'`;
  expect(row).toEqual({ pubinsert: true, pubupdate: true, pubdelete: true });
});

test("the replica identity is the primary key → a deletion, which every subscriber is told, tells no more than that", async () => {
  const [row] =
    await db.sql`select relreplident as identity from pg_class where oid = 'keyframe.predictions'::regclass`;
  expect(row).toEqual({ identity: "d" });
});

test("what a subscriber is shown is what a select shows → the owner the own row, another user none, anon is refused", async () => {
  const [owner, other] = [await addWorld(db), await addWorld(db)];
  const { id } = await seedPrediction(db.sql, owner, { status: "processing" });
  const seenBy = (claims: { sub?: string; role: string }) =>
    db.as(claims, async (sql) => (await sql`select id from keyframe.predictions where id = ${id}`).count);
  expect(await seenBy({ role: "authenticated", sub: owner.owner })).toBe(1);
  expect(await seenBy({ role: "authenticated", sub: other.owner })).toBe(0);
  expect((await refusalOf(seenBy({ role: "anon" }))).sqlstate).toBe("42501");
});

test("the migration where predictions are published already → nothing changes", async () => {
  await migrate();
  expect(await published()).toEqual(["keyframe.predictions"]);
});

test("the migration on an empty publication → predictions are added", async () => {
  await db.sql`alter publication supabase_realtime drop table keyframe.predictions`;
  await migrate();
  expect(await published()).toEqual(["keyframe.predictions"]);
});

test("the migration without a publication → none is made", async () => {
  await db.sql`drop publication supabase_realtime`;
  await migrate();
  expect((await db.sql`select from pg_publication where pubname = 'supabase_realtime'`).count).toBe(0);
});

test("the migration where the publication has all tables anyway → it leaves it alone", async () => {
  await db.sql`drop publication supabase_realtime`;
  await db.sql`create publication supabase_realtime for all tables`;
  await migrate();
  expect(await published()).toContain("keyframe.predictions");
});
