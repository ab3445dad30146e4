import postgres from "postgres";
import { PostgresError } from "./postgres-error.ts";

const OLDEST = 15;
const NEWEST = 17;

/**
 * Checks that Keyframe can use the Postgres at `url` (KEYFRAME_DATABASE_URL), and says whether its database has migrations of
 * Supabase already. Throws a PostgresError `given_…`.
 */
export async function checkGivenPostgres(url: string): Promise<{ major: number; isUsed: boolean }> {
  const sql = connect(url);
  try {
    const [row] = await sql<{ major: number; superuser: boolean; isUsed: boolean }[]>`
      select current_setting('server_version_num')::int / 10000 as major, rolsuper as superuser,
        to_regnamespace('supabase_migrations') is not null as "isUsed"
      from pg_roles where rolname = current_user`;
    if (!row?.superuser) {
      throw new PostgresError("given_not_superuser", "The role in KEYFRAME_DATABASE_URL has to be a superuser.");
    }
    if (row.major < OLDEST || row.major > NEWEST) {
      const wanted = `${OLDEST} to ${NEWEST}`;
      throw new PostgresError(
        "given_version",
        `KEYFRAME_DATABASE_URL is a Postgres ${row.major}; it has to be ${wanted}.`,
      );
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

/** The message never repeats the address: it holds a password. */
function unreachable(error: unknown): PostgresError {
  const reason = error instanceof Error ? error.message || error.name : String(error);
  return new PostgresError("given_unreachable", `The Postgres of KEYFRAME_DATABASE_URL cannot be used: ${reason}`);
}
