import { join } from "node:path";
import postgres from "postgres";
import { checkGivenPostgres } from "../postgres/check-given-postgres.ts";
import { type RunningPostgres, startPostgres } from "../postgres/start-postgres.ts";
import { createBackoff } from "./backoff.ts";
import { LogFile } from "./log-file.ts";
import { oneLine } from "./one-line.ts";
import type { StackOptions } from "./stack-types.ts";

export type Database = {
  /** The superuser's address. */
  url: string;
  /** The address migrations run with: role `postgres`, never a superuser unless the given server's own is called so. */
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

/** Starts the server again, on its port, when it ends unasked. Returns what stops it for good. */
function keepRunning(
  first: RunningPostgres,
  start: (port: number) => Promise<RunningPostgres>,
  onProblem: (line: string) => void,
): () => Promise<void> {
  const stopping = new AbortController();
  const backoff = createBackoff();
  let server = first;
  const kept = (async () => {
    while (true) {
      await server.exited;
      if (stopping.signal.aborted) return;
      onProblem("The database ended and is started again (see postgres.log)");
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
