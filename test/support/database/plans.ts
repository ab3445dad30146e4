import postgres from "postgres";

/** Runs something on a connection that reports the plan of every statement, those inside functions included. */
export async function plansOf(url: string, work: (sql: postgres.Sql) => Promise<unknown>): Promise<string[]> {
  const plans: string[] = [];
  const sql = postgres(url, { max: 1, onnotice: ({ message }) => plans.push(message ?? "") });
  try {
    await sql.unsafe(`
      load 'auto_explain';
      set auto_explain.log_min_duration = 0;
      set auto_explain.log_nested_statements = on;
      set auto_explain.log_analyze = on;
      set auto_explain.log_timing = off;
      set client_min_messages = log`);
    await work(sql);
  } finally {
    await sql.end();
  }
  return plans;
}
