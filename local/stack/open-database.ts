import { join } from "node:path";
import postgres from "postgres";
import { PostgresError } from "../postgres/postgres-error.ts";
import { type RunningPostgres, startPostgres } from "../postgres/start-postgres.ts";
import { oneLine } from "../../command-line/run-main.ts";
import { Backoff, LogFile } from "./keep-running.ts";
import type { StackOptions } from "./stack-settings.ts";

type Database = {
  /** With the superuser. */
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
  const first = await start();
  const stopKeeping = keepRunning(first, start, options.onProblem ?? (() => undefined));
  return {
    url: first.url,
    migrationUrl: (password) => migrationUrl(first.url, password),
    stop: async () => {
      await stopKeeping();
      log.close();
    },
  };
}

/** Restarts the server on its port after an unexpected end. Returns a function that stops it for good. */
function keepRunning(
  first: RunningPostgres,
  start: (port: number) => Promise<RunningPostgres>,
  onProblem: (line: string) => void,
): () => Promise<void> {
  const stopping = new AbortController();
  const backoff = new Backoff();
  let server = first;
  const kept = (async () => {
    while (true) {
      await server.exited;
      if (stopping.signal.aborted) return;
      onProblem("The database ended; restarting it (see postgres.log)");
      await backoff.pause(stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        server = await start(first.port);
        backoff.served();
      } catch (error) {
        onProblem(oneLine(error));
      }
      if (stopping.signal.aborted) await server.stop();
    }
  })();
  return async () => {
    stopping.abort();
    await server.stop();
    await kept;
  };
}

async function migrationUrl(superuserUrl: string, password: string): Promise<string> {
  const sql = postgres(superuserUrl, { max: 1, onnotice: () => undefined });
  try {
    const [role] = await sql<{ rolsuper: boolean }[]>`select rolsuper from pg_roles where rolname = 'postgres'`;
    if (role?.rolsuper) return superuserUrl;
  } finally {
    await sql.end({ timeout: 1 });
  }
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
  const sql = connect(url);
  try {
    const [row] = await sql<{ major: number; superuser: boolean; isUsed: boolean }[]>`
      select current_setting('server_version_num')::int / 10000 as major, rolsuper as superuser,
        to_regnamespace('supabase_migrations') is not null as "isUsed"
      from pg_roles where rolname = current_user`;
    if (!row?.superuser) {
      throw new PostgresError("given_not_superuser", "The role in KEYFRAME_DATABASE_URL must be a superuser.");
    }
    if (row.major < OLDEST || row.major > NEWEST) {
      const message = `KEYFRAME_DATABASE_URL is Postgres ${row.major}; it must be ${OLDEST} to ${NEWEST}.`;
      throw new PostgresError("given_version", message);
    }
    return { major: row.major, isUsed: row.isUsed };
  } catch (error) {
    throw error instanceof PostgresError ? error : unreachable(error);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function connect(url: string): postgres.Sql {
  try {
    return postgres(url, { max: 1, connect_timeout: 10, onnotice: () => undefined });
  } catch (error) {
    throw unreachable(error);
  }
}

/** The message never contains the URL, which has a password. */
function unreachable(error: unknown): PostgresError {
  const reason = error instanceof Error ? error.message || error.name : String(error);
  return new PostgresError("given_unreachable", `The Postgres of KEYFRAME_DATABASE_URL cannot be used: ${reason}`);
}
