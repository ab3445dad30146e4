import { getAuthSchemaSql, getStorageSchemaSql } from "@supabase/lite";
import type { Sql } from "postgres";

/** An advisory lock against a second stack that starts on the same database at the same time. */
const LOCK = 7_220_519_003;

const read = (name: string) => Deno.readTextFile(new URL(name, import.meta.url));

/**
 * Prepares a plain Postgres as the database of a hosted project: roles, schemas, rights, the tables of Auth and Storage.
 * One transaction; may run at every start.
 *
 * @param sql a superuser's connection to the database
 * @param options.postgresPassword for the role `postgres`, which runs migrations; not set when that role is a superuser
 * @throws PostgresError when the user is not a superuser
 */
export async function bootstrapPlatform(sql: Sql, options: { postgresPassword?: string } = {}): Promise<void> {
  const roles = await read("./bootstrap.sql");
  const services = await read("./bootstrap-services.sql");
  await sql.begin(async (transaction) => {
    const run = (text: string) => transaction.unsafe(text).simple();
    await run("set local client_min_messages = error; set local search_path = public, extensions");
    await transaction`select pg_advisory_xact_lock(${LOCK})`;
    await run(roles);
    await run(getAuthSchemaSql());
    await run(getStorageSchemaSql());
    await run(services);
    if (options.postgresPassword === undefined) return;
    const [statement] = await transaction<{ text: string }[]>`
      select format('alter role postgres with password %L', ${options.postgresPassword}::text) as text
      from pg_roles where rolname = 'postgres' and not rolsuper`;
    if (statement) await run(statement.text);
  });
}
