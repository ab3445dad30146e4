import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removePostgresData } from "../../../local/postgres/server-user.ts";
import { type RunningPostgres, startPostgres } from "../../../local/postgres/start-postgres.ts";
import { useDatabase } from "../../support/database/clone-database.ts";

// What holds a snapshot without a session: it needs settings that take a start of Postgres. Sessions: observability.test.ts.

const db = useDatabase();
let dataDir: string;
let server: RunningPostgres;
let sql: postgres.Sql;
beforeAll(async () => {
  dataDir = join(await mkdtemp(join(tmpdir(), "keyframe-snapshots-")), "data");
  const settings = { wal_level: "logical", max_wal_senders: "2", max_prepared_transactions: "2" };
  server = await startPostgres({ dataDir, durable: false, settings });
  sql = postgres(server.url, { max: 1, onnotice: () => undefined });
  await sql`create schema keyframe_private`;
  for (const name of ["seconds_since", "snapshot_figures"]) {
    const [made] = await db.sql<{ text: string }[]>`
      select pg_get_functiondef(p.oid) as text from pg_proc p where p.pronamespace = 'keyframe_private'::regnamespace and p.proname = ${name}`;
    await sql.unsafe(made?.text ?? "");
  }
});
afterAll(async () => {
  await sql?.end({ timeout: 5 });
  await server?.stop();
  if (server) await removePostgresData(dataDir);
});

/** Those that have held for so long, or so many transactions. */
const held = async (limits: string) => {
  const [row] = await sql.unsafe<{ held: { kind: string; name: string }[] }[]>(
    `select keyframe_private.snapshot_figures(${limits}) as held`,
  );
  return (row?.held ?? []).map(({ kind, name }) => `${kind} ${name}`).sort();
};

test("a stuck replication slot and a prepared transaction → named once they are old, until they are removed", async () => {
  expect(await held("'0', -1")).toEqual([]);
  await sql`select pg_create_logical_replication_slot('etl', 'pgoutput')`;
  await sql.unsafe("begin; create table orders (); prepare transaction 'order-1'").simple();
  for (let change = 0; change < 5; change++) await sql`select txid_current()`;
  expect(await held("'0', 1000000")).toContain("prepared order-1");
  expect(await held("'1 day', 3")).toEqual(["prepared order-1", "slot etl"]);
  expect(await held("")).toEqual([]);
  await sql`rollback prepared 'order-1'`;
  await sql`select pg_drop_replication_slot('etl')`;
  expect(await held("'0', -1")).toEqual([]);
});
