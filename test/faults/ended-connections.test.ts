import { expect, test } from "vitest";
import { openPool } from "../../local/platform/open-pool.ts";
import { useDatabase } from "../support/database/clone-database.ts";
import { until } from "../support/until.ts";

const db = useDatabase();

const connectionsOf = async (name: string) => {
  const rows = await db.sql`
    select pid from pg_stat_activity where datname = current_database() and application_name = ${name}`;
  return rows.length;
};
const cut = (name: string) => db.sql`
  select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = ${name}`;

/** How many there are after longer than a connection waits before it connects again. */
async function connectionsLater(name: string): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  return await connectionsOf(name);
}

const NAME = "keyframe-platform";

test("a pool is ended while one of its connections waits to reconnect → the connection is not made", async () => {
  const pool = openPool({
    databaseUrl: db.url,
    publicUrl: "http://127.0.0.1:1",
    liteSecret: "x".repeat(32),
    publishableKey: "sb_publishable_test",
    secretKey: "sb_secret_test",
    storageFolder: "/nowhere",
    sendMail: () => undefined,
  });
  const { driver } = pool.connection;
  await driver`select 1`;
  await until("it is connected", async () => (await connectionsOf(NAME)) === 2);
  await cut(NAME);
  await until("it has noticed", () => pool.lost.aborted);
  const asked = driver`select 2`.catch((error: unknown) => error);
  // A waiting query keeps a connection that waits to connect again.
  await Promise.resolve();
  await pool.end(0);
  await asked;
  expect(await connectionsLater(NAME)).toBe(0);
});
