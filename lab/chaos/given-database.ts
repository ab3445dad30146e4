import type postgres from "postgres";
import { checkGivenPostgres } from "../../local/stack/open-database.ts";
import type { Stack } from "../../local/stack/start-stack.ts";

/** A run fills its database and breaks what is in it. Throws for one that has been used. */
export async function requireEmpty(databaseUrl: string): Promise<void> {
  const { isUsed } = await checkGivenPostgres(databaseUrl);
  if (!isUsed) return;
  throw new Error(
    "The database of KEYFRAME_DATABASE_URL has been used. A run needs an empty one: drop it and create it anew, or give another.",
  );
}

/** The workers of the real extensions are processes of Postgres, which starts them again. */
export const endWorkers = (sql: postgres.Sql): Promise<unknown> => sql`
  select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and (backend_type like 'pg_net %' or backend_type like 'pg_cron%')`;

/** As near to a kill as SQL comes: nobody's connection to the database is left, nor a worker of an extension. */
export const endEverySession = (sql: postgres.Sql): Promise<unknown> => sql`
  select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;

/** Which faults are less than they say, on a server that is not the run's own. A sentence each. */
export function describeGiven({ extensions }: Pick<Stack, "extensions">): string[] {
  const real = (["pg_net", "pg_cron"] as const).filter((name) => extensions[name] === "real").join(" and ");
  const workers = real === "" ? "" : `, and the workers of ${real} were ended`;
  return [
    `kill postgres: the server of KEYFRAME_DATABASE_URL was not killed. Every connection to the database was cut${workers}, by SQL.`,
    ...(real === ""
      ? []
      : [
          `kill scheduler: the workers of ${real} were ended by SQL.`,
          `scheduler hangs: the workers of ${real} did not hang. They are processes of the server of KEYFRAME_DATABASE_URL.`,
        ]),
  ];
}
