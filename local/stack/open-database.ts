import { join } from "node:path";
import { onServer } from "../postgres/on-server.ts";
import { PostgresError } from "../postgres/postgres-error.ts";
import { startPostgres } from "../postgres/start-postgres.ts";
import { oneLine } from "../../command-line/run-main.ts";
import { keepRunning, LogFile } from "./keep-running.ts";
import type { StackOptions } from "./stack-settings.ts";

type Database = {
  /** The URL with the superuser. */
  url: string;
  /** The URL for migrations: role `postgres`, which is a superuser only where the given server has made it one. */
  migrationUrl(postgresPassword: string): Promise<string>;
  stop(): Promise<void>;
};

/** The Postgres of KEYFRAME_DATABASE_URL when there is one, otherwise the embedded one, started and kept running. */
export async function openDatabase(options: StackOptions): Promise<Database> {
  if (options.databaseUrl !== undefined) {
    await checkGivenPostgres(options.databaseUrl);
    const url = options.databaseUrl;
    return { url, migrationUrl: (password) => migrationUrl(url, password), stop: async () => undefined };
  }
  const log = new LogFile(join(options.dataDir, "logs", "postgres.log"));
  const start = (port = 0) =>
    startPostgres({
      dataDir: join(options.dataDir, "postgres"),
      port,
      durable: options.durable ?? true,
      onLog: (line) => log.write(line),
    });
  let server = await start();
  const { url, port } = server;
  const onProblem = options.onProblem ?? (() => undefined);
  const stopping = new AbortController();
  const ended = async () => {
    await server.exited;
    if (!stopping.signal.aborted) onProblem("The database ended; restarting it (see postgres.log)");
  };
  const restart = async () => {
    server = await start(port);
    if (stopping.signal.aborted) await server.stop();
  };
  const kept = keepRunning({ ended, restart, onFailure: (error) => onProblem(oneLine(error)) }, stopping.signal);
  return {
    url,
    migrationUrl: (password) => migrationUrl(url, password),
    stop: async () => {
      stopping.abort();
      await server.stop();
      await kept;
      log.close();
    },
  };
}

/** The URL for migrations: role `postgres`, unless that is a superuser, because the given server has made it one. */
export async function migrationUrl(superuserUrl: string, password: string): Promise<string> {
  const isSuperuser = await onServer(superuserUrl, async (sql) => {
    const [role] = await sql<{ rolsuper: boolean }[]>`select rolsuper from pg_roles where rolname = 'postgres'`;
    return role?.rolsuper;
  });
  if (isSuperuser) return superuserUrl;
  const url = new URL(superuserUrl);
  url.username = "postgres";
  url.password = password;
  return url.href;
}

const OLDEST = 15;
const NEWEST = 17;

/**
 * Checks that Keyframe can use the Postgres at `url` (KEYFRAME_DATABASE_URL). `isUsed`: its database already has Supabase
 * migrations. Throws a PostgresError `given_…`.
 */
export async function checkGivenPostgres(url: string): Promise<{ major: number; isUsed: boolean }> {
  const [row] = await onServer(
    url,
    (sql) => sql<{ major: number; superuser: boolean; isUsed: boolean }[]>`
      select current_setting('server_version_num')::int / 10000 as major, rolsuper as superuser,
        to_regnamespace('supabase_migrations') is not null as "isUsed"
      from pg_roles where rolname = current_user`,
  ).catch(refuseUnreachable);
  if (!row?.superuser) {
    throw new PostgresError("given_not_superuser", "The role in KEYFRAME_DATABASE_URL must be a superuser.");
  }
  if (row.major < OLDEST || row.major > NEWEST) {
    const message = `KEYFRAME_DATABASE_URL is Postgres ${row.major}; it must be ${OLDEST} to ${NEWEST}.`;
    throw new PostgresError("given_version", message);
  }
  return { major: row.major, isUsed: row.isUsed };
}

/** The message never contains the URL, which has a password. */
function refuseUnreachable(error: unknown): never {
  const reason = error instanceof Error ? error.message || error.name : String(error);
  throw new PostgresError("given_unreachable", `The Postgres of KEYFRAME_DATABASE_URL cannot be used: ${reason}`);
}
