import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { useWorld } from "../../support/database/predictions.ts";
import { start } from "../../support/database/user.ts";

// One policy that raises ends the transaction in which Realtime reads the rows of all subscribers, and takes an app's own files from it.

const db = useDatabase();
const world = useWorld(db);

const OTHERS: [what: string, claims: string][] = [
  ["a subject of another service", '{"sub":"user_2abc","role":"authenticated"}'],
  ["an empty subject", '{"sub":""}'],
  ["a null subject", '{"sub":null}'],
  ["an object as subject", '{"sub":{"a":1}}'],
  ["a subject with more behind a UUID", `{"sub":"${crypto.randomUUID()}\\n"}`],
  ["a UUID without hyphens", `{"sub":"${crypto.randomUUID().replaceAll("-", "")}"}`],
  ["another user", `{"sub":"${crypto.randomUUID().toUpperCase()}"}`],
  ["a client that is an object", '{"client_id":{}}'],
  ["a null client", '{"client_id":null}'],
  ["a client of another user", `{"sub":"${crypto.randomUUID()}","client_id":"x"}`],
  ["no claims", "{}"],
  ["null", "null"],
  ["nothing", ""],
  ["an empty list", "[]"],
  ["a list", "[1]"],
  ["text", '"x"'],
];

test.each(OTHERS)(
  "%s as claims → no row of any table that users read, also in Storage, and no error",
  async (_what, claims) => {
    const tables = await db.sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c
    where (c.relnamespace = 'keyframe'::regnamespace or c.oid = 'storage.objects'::regclass) and c.relkind = 'r'
      and has_any_column_privilege('authenticated', c.oid, 'select') and c.oid::regclass::text not in ('keyframe.models', 'keyframe.step_defaults')`;
    expect(tables.length).toBeGreaterThan(8);
    await start(db, world);
    await db.sql`insert into storage.objects (bucket_id, name, user_metadata) values ('projects', ${crypto.randomUUID()}, '{"ownerId":"x"}')`;
    for (const method of ["", "GET"]) {
      await db.sql.begin("read only", async (sql) => {
        await sql`select set_config('role', 'authenticated', true), set_config('request.jwt.claims', ${claims}, true), set_config('request.method', ${method}, true)`;
        for (const { name } of tables) {
          const [row] = await sql.unsafe(`select count(*)::int as rows from ${name}`);
          expect([name, row?.rows]).toEqual([name, 0]);
        }
      });
    }
  },
);
