import postgres from "postgres";
import { afterAll, beforeAll, inject } from "vitest";
import { until } from "../until.ts";
import { onServer } from "../../../local/postgres/on-server.ts";

export type Claims = { sub?: string; role: string; client_id?: unknown };

/** A test file's own database, cloned from the migrated template. */
export type ClonedDatabase = {
  url: string;
  /** A superuser's connections. */
  sql: postgres.Sql;
  /** Runs in one transaction as a role of the Data API with the given claims, as PostgREST does. */
  as<T>(claims: Claims, work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T>;
  /** The same with a session of this user. */
  asUser<T>(id: string, work: (sql: postgres.TransactionSql) => Promise<T>): Promise<T>;
  /** Makes a user of Auth and returns its id. */
  addUser(): Promise<string>;
};

/** A clone for one test file: there from its first hook on. Without rate limits, unless the test is about those that are shipped. */
export function useDatabase(limits: "no limits" | "shipped limits" = "no limits"): ClonedDatabase {
  const database = {} as ClonedDatabase; // filled before any hook or test can use it
  beforeAll(async () => {
    Object.assign(database, await cloneDatabase());
    if (limits === "no limits") {
      await database.sql`update keyframe_private.rate_limits set capacity = 1000000`;
      await database.sql`update keyframe_private.settings set max_calls_per_owner = 1000`;
    }
  });
  afterAll(() => database.sql?.end({ timeout: 5 }));
  return database;
}

/**
 * Clones the template, in some tens of milliseconds, and returns the clone's address. Clones are dropped after the last test of all: the
 * file system searches long for the place of a new file while hundreds were deleted lately, which took a third of the database tests' time.
 */
export async function cloneTemplate(): Promise<string> {
  return await copyDatabase(inject("stack").templateUrl);
}

/** Copies any database of that server, also one that is in use: its connections are cut. */
export async function copyDatabase(original: string): Promise<string> {
  const { databaseUrl, templateUrl } = inject("stack");
  const template = new URL(original).pathname.slice(1);
  const name = `${new URL(templateUrl).pathname.slice(1)}_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
  // Two clones of one template at the same moment refuse each other, so they take turns.
  await onServer(databaseUrl, async (sql) => {
    await sql`select pg_advisory_lock(732001)`;
    if (original !== templateUrl) await cutOff(sql, template);
    // By default Postgres logs every page of a copy: 290 ms instead of 24.
    await sql.unsafe(`create database ${name} template ${template} strategy file_copy`);
    await sql.unsafe(`alter database ${template} allow_connections true`);
  });
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function cutOff(sql: postgres.Sql, name: string): Promise<void> {
  await sql.unsafe(`alter database ${name} allow_connections false`);
  await until("nobody is connected", async () => {
    const left = await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
    return left.length === 0;
  });
}

/** The error that the Data API makes of an answer with a status of its own; its transaction is committed. */
function refusalIn(value: unknown): Error {
  const found = [value, ...valuesOf(value), ...valuesOf(value).flatMap(valuesOf)].find(
    (one): one is RefusalAnswer => typeof one === "object" && one !== null && "code" in one && one.code === "KEYFR",
  );
  if (!found) return new Error("A function has refused, and its answer was not returned.");
  const { code, message, details: detail, hint } = found;
  return Object.assign(new postgres.PostgresError(message), { code, message, detail, hint });
}
type RefusalAnswer = { code: string; message: string; details: string; hint: string };
const valuesOf = (value: unknown): unknown[] =>
  typeof value === "object" && value !== null ? Object.values(value) : [];

async function cloneDatabase(): Promise<ClonedDatabase> {
  const url = await cloneTemplate();
  const sql = postgres(url, { max: 25, onnotice: () => undefined });
  const database: ClonedDatabase = {
    url,
    sql,
    as: async (claims, work) => {
      const result = await sql.begin(async (transaction) => {
        await transaction.unsafe(`set local role ${claims.role}`);
        await transaction`
          select set_config('request.jwt.claims', ${JSON.stringify(claims)}, true),
                 set_config('request.jwt.claim.sub', ${claims.sub ?? ""}, true)`;
        const value = await work(transaction);
        const [response] = await transaction<
          { status: string | null }[]
        >`select current_setting('response.status', true) as status`;
        return { value, isRefused: Boolean(response?.status) };
      });
      // postgres.js types the result as if it could be a list of queries; wrapped in an object it cannot.
      const { value, isRefused } = result as { value: Awaited<ReturnType<typeof work>>; isRefused: boolean };
      if (isRefused) throw refusalIn(value);
      return value;
    },
    asUser: (sub, work) => database.as({ role: "authenticated", sub }, work),
    addUser: async () => {
      const id = crypto.randomUUID();
      // Auth names both; its table has no defaults.
      await sql`
        insert into auth.users (id, email, aud, role)
        values (${id}, ${`${id}@keyframe.local`}, 'authenticated', 'authenticated')`;
      return id;
    },
  };
  return database;
}
