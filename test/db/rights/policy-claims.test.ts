import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";
import { useWorld } from "../../support/database/predictions.ts";
import { start } from "../../support/database/user.ts";

// One policy that raises ends the transaction in which Realtime reads the rows of all subscribers, and takes an app's own files from it.

const db = useDatabase();
const world = useWorld(db);

const sub = crypto.randomUUID();
const OTHERS: [what: string, claims: string][] = [
  ["a subject of another service", '{"sub":"user_2abc","role":"authenticated"}'],
  ["an empty subject", '{"sub":""}'],
  ["a null subject", '{"sub":null}'],
  ["a number as subject", '{"sub":7}'],
  ["true as subject", '{"sub":true}'],
  ["an object as subject", '{"sub":{"a":1}}'],
  ["a list as subject", `{"sub":["${sub}"]}`],
  ["a subject with more behind a UUID", `{"sub":"${sub}\\n"}`],
  ["a UUID without hyphens", `{"sub":"${sub.replaceAll("-", "")}"}`],
  ["a subject with a NUL", '{"sub":"\\u0000"}'],
  ["another user", `{"sub":"${sub.toUpperCase()}"}`],
  ["another user, twice", `{"sub":"user_2abc","sub":"${sub}"}`],
  ["a list of audiences", `{"sub":"${sub}","aud":["authenticated","https://app.example"]}`],
  ["an audience of another service", '{"sub":"user_2abc","aud":{"a":["b"]}}'],
  ["a client that is an object", '{"client_id":{}}'],
  ["a client that is a list", `{"sub":"${sub}","client_id":["a"]}`],
  ["a client that is a number", `{"sub":"${sub}","client_id":1e400}`],
  ["a null client", '{"client_id":null}'],
  ["an empty client", `{"sub":"${sub}","client_id":""}`],
  ["a client of another user", `{"sub":"${sub}","client_id":"x"}`],
  ["no claims", "{}"],
  ["null", "null"],
  ["nothing", ""],
  ["white space", " "],
  ["an empty list", "[]"],
  ["a list", "[1]"],
  ["a list of the names of claims", '["sub","client_id"]'],
  ["text", '"x"'],
  ["the name of a claim", '"client_id"'],
  ["a number", "5"],
  ["no JSON", "sub=user_2abc"],
  ["half of the claims", '{"sub":"'],
];

describe.each(["authenticated", "anon"])("as %s", (role) => {
  test.each(OTHERS)(
    "%s as JWT claims → no row of any table that the role may read, and no error",
    async (_what, claims) => {
      const tables = await db.sql<{ name: string }[]>`
      select c.oid::regclass::text as name from pg_class c
      where (c.relnamespace = 'keyframe'::regnamespace or c.oid = 'storage.objects'::regclass) and c.relkind = 'r'
        and has_any_column_privilege(${role}, c.oid, 'select') and c.oid::regclass::text not in ('keyframe.models', 'keyframe.step_defaults')`;
      const published = await db.sql<{ name: string }[]>`
      select (schemaname || '.' || tablename)::regclass::text as name from pg_publication_tables where pubname = 'supabase_realtime'`;
      expect(published.length).toBeGreaterThan(0);
      expect(tables).toEqual(expect.arrayContaining([...published]));
      await start(db, world);
      await db.sql`insert into storage.objects (bucket_id, name, user_metadata) values ('projects', ${crypto.randomUUID()}, '{"ownerId":"x"}')`;
      for (const method of ["", "GET"]) {
        await db.sql.begin("read only", async (sql) => {
          await sql`select set_config('role', ${role}, true), set_config('request.jwt.claims', ${claims}, true), set_config('request.method', ${method}, true)`;
          for (const { name } of tables) {
            const [row] = await sql.unsafe(`select count(*)::int as rows from ${name}`);
            expect([name, row?.rows]).toEqual([name, 0]);
          }
        });
      }
    },
  );
});
