import { join } from "node:path";
import postgres from "postgres";
import { checkGivenPostgres } from "../postgres/check-given-postgres.ts";
import { startPostgres } from "../postgres/start-postgres.ts";
import type { StackOptions } from "./stack-types.ts";

export type Database = {
  /** The superuser's address. */
  url: string;
  /** The address migrations run with: role `postgres`, never a superuser unless the given server's own is called so. */
  migrationUrl(postgresPassword: string): Promise<string>;
  stop(): Promise<void>;
};

/** The Postgres of KEYFRAME_DATABASE_URL when there is one, otherwise the embedded one, started. */
export async function openDatabase(options: StackOptions): Promise<Database> {
  if (options.databaseUrl !== undefined) {
    await checkGivenPostgres(options.databaseUrl);
    const url = options.databaseUrl;
    return { url, migrationUrl: (password) => migrationUrl(url, password), stop: async () => undefined };
  }
  const logFile = join(options.dataDir, "logs", "postgres.log");
  const server = await startPostgres({
    dataDir: join(options.dataDir, "postgres"),
    durable: options.durable ?? true,
    onLog: (line) => Deno.writeTextFileSync(logFile, `${line}\n`, { append: true, create: true }),
  });
  return {
    url: server.url,
    migrationUrl: (password) => migrationUrl(server.url, password),
    stop: () => server.stop(),
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
