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
      set auto_explain.log_level = notice`); // for this session only: the server's log would get 50 MB
    await work(sql);
  } finally {
    await sql.end();
  }
  return plans;
}

/** How many rows the widest scan of a plan read, discarded ones included, and how dear the plan is: JIT compiles what is over 100,000. */
export function readBy(plan: string) {
  const scans = plan.matchAll(
    /Scan[^\n]*\(actual rows=(\d+)[^\n]*loops=(\d+)|Rows Removed by (?:Join )?Filter: (\d+)/g,
  );
  const rows = [...scans].map(([, each = "0", loops = "1", removed = "0"]) =>
    Math.max(Number(each) * Number(loops), Number(removed)),
  );
  const costs = [...plan.matchAll(/cost=[\d.]+\.\.([\d.]+)/g)].map(([, cost]) => Number(cost));
  return { rows: Math.max(0, ...rows), cost: Math.max(0, ...costs) };
}
