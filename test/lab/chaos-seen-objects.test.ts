import { beforeAll, expect, test } from "vitest";
import { recordObjects } from "../../lab/chaos/invariants/ledger-tables.ts";
import { useDatabase } from "../support/database/clone-database.ts";

const db = useDatabase();
beforeAll(async () => {
  await db.sql`create schema chaos`;
  await recordObjects(db.sql);
});

/** When the object was seen last, in the database's own words; undefined for never. */
async function seen(name: string): Promise<string | undefined> {
  const [row] = await db.sql<{ at: string }[]>`select at::text from chaos.recorded_objects where name = ${name}`;
  return row?.at;
}

test("a row that comes → seen from then on, also when the row is gone; a row that is taken back → not seen", async () => {
  const [before] = await db.sql<{ now: string }[]>`select now()::text as now`;
  await db.sql`insert into storage.objects (bucket_id, name) values ('keyframe-outputs', 'kept.png')`;
  const at = await seen("kept.png");
  expect(Date.parse(at ?? "")).toBeGreaterThanOrEqual(Date.parse(before?.now ?? ""));
  await db.sql.begin(async (sql) => {
    await sql`set local storage.allow_delete_query = 'true'`;
    await sql`delete from storage.objects where name = 'kept.png'`;
  });
  expect(await seen("kept.png")).toBe(at);

  const takenBack = db.sql.begin(async (sql) => {
    await sql`insert into storage.objects (bucket_id, name) values ('keyframe-outputs', 'probe.png')`;
    throw new Error("taken back");
  });
  await expect(takenBack).rejects.toThrow("taken back");
  expect(await seen("probe.png")).toBeUndefined();
});

test("another content under the name → seen anew; a reading → not", async () => {
  await db.sql`insert into storage.objects (bucket_id, name) values ('keyframe-outputs', 'again.png')`;
  const first = await seen("again.png");
  await db.sql`update storage.objects set last_accessed_at = now() where name = 'again.png'`;
  expect(await seen("again.png")).toBe(first);
  await db.sql`update storage.objects set version = 'two' where name = 'again.png'`;
  expect(Date.parse((await seen("again.png")) ?? "")).toBeGreaterThanOrEqual(Date.parse(first ?? ""));
  expect(await seen("again.png")).not.toBe(first);
});

test("a role without rights on what is noted → its upload is seen all the same", async () => {
  await db.sql.begin(async (sql) => {
    await sql`grant usage on schema chaos to public`;
    await sql`set local role service_role`;
    await sql`insert into storage.objects (bucket_id, name) values ('keyframe-outputs', 'theirs.png')`;
  });
  expect(await seen("theirs.png")).toBeDefined();
});
