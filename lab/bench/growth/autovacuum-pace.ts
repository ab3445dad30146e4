import postgres from "postgres";

/**
 * Lets the server's autovacuum look every second and not pause, until `restore`. It is the whole server's: nothing else may be
 * measured on it meanwhile.
 */
export async function hurryAutovacuum(serverUrl: string): Promise<{ restore(): Promise<void> }> {
  const set = async (statements: string[]) => {
    const sql = postgres(serverUrl, { max: 1, onnotice: () => undefined });
    try {
      for (const statement of [...statements, "select pg_reload_conf()"]) await sql.unsafe(statement);
    } finally {
      await sql.end({ timeout: 5 });
    }
  };
  await set(["alter system set autovacuum_naptime = '1s'", "alter system set autovacuum_vacuum_cost_delay = 0"]);
  return {
    restore: () => set(["alter system reset autovacuum_naptime", "alter system reset autovacuum_vacuum_cost_delay"]),
  };
}
