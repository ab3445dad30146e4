import type postgres from "postgres";
import { plansOf } from "../../../test/support/db-plans.ts";
import type { Size } from "./databases.ts";

type Caller = "service_role" | "superuser" | { owner: number };

/**
 * Expressions that one caller evaluates in turn, each returning a number of rows. The transaction is rolled back, so
 * that each run finds the same rows.
 */
export type Operation = {
  name: string;
  /** Whether its median at the largest size has an aim. */
  aimed: boolean;
  caller: Caller;
  /** Unmeasured preparation. The last value, a text, is `$1` of the expressions. */
  before?: string[];
  expressions: [expression: string, rows: number][];
  /** Unmeasured cleanup. The transaction is then committed. */
  after?: string;
};

/** The owner of a tenth of all rows, whose first project has a twentieth. */
const HOT: Caller = { owner: 1 };
const HOT_PROJECT = "md5('project 10')::uuid";
/** It has a delivery of every event. */
const SERVICE_WIDE = "md5('endpoint 0')::uuid";
const PAGE = "max_rows => 20";
const FAR_DOWN = "before_created_at => now() - interval '15 days', before_id => md5('any')::uuid";

const page = (of: string, call: string): [string, number] => [`jsonb_array_length(${call}::jsonb -> '${of}')`, 20];
const one = (of: string, call: string): [string, number] => [`((${call} -> '${of}' ->> 'id') is not null)::int`, 1];
const deliveries = (status: string): [string, number][] => [
  page("deliveries", `keyframe.list_webhook_deliveries(${SERVICE_WIDE}, ${status}, ${PAGE})`),
  page("deliveries", `keyframe.list_webhook_deliveries(${SERVICE_WIDE}, ${status}, ${PAGE}, ${FAR_DOWN})`),
];
const as = (caller: Caller, name: string, ...expressions: [string, number][]): Operation => ({
  ...{ name, caller, expressions, aimed: true },
});

/**
 * Committed, because each claim must find other deliveries; rolled back it would find the same ones and its own dead
 * leases.
 */
const LANES = 6;
const BATCH = LANES * 16;
const exchange = (results: string, held: string, lanes: number) =>
  `keyframe_worker.exchange_deliveries(${results}, ${held}, ${lanes}, 60, 60000)::jsonb`;
const CLAIM = `(select sum(jsonb_array_length(l -> 'deliveries'))::int from jsonb_array_elements(${exchange("'[]'", "'[]'", LANES)} -> 'lanes') l)`;
const RESULTS = "(select bench.results())";
const record = (results: string) => `(${exchange(`${results}::jsonb`, "bench.held()", 0)} ->> 'recorded')::int`;

export const OPERATIONS: Operation[] = [
  as(HOT, "create a project", one("project", "keyframe.create_project('Harbour', 'A harbour at dawn')")),
  as(HOT, "start a frame", one("prediction", `keyframe.start_prediction(${HOT_PROJECT}, 'first-frame')`)),
  as(HOT, "start a video", one("prediction", `keyframe.start_prediction(${HOT_PROJECT}, 'video')`)),
  as(
    HOT,
    "status",
    one("prediction", `keyframe.read_prediction(${HOT_PROJECT}, 'video')`),
    one("prediction", `keyframe.read_prediction(${HOT_PROJECT}, 'last-frame', md5('prediction 5000')::uuid)`),
  ),
  as(
    HOT,
    "list projects",
    page("projects", `keyframe.list_projects(${PAGE}, with_predictions => true)`),
    page("projects", `keyframe.list_projects(${PAGE}, with_predictions => true, ${FAR_DOWN})`),
  ),
  as(
    HOT,
    "list predictions",
    page("predictions", `keyframe.list_predictions(${HOT_PROJECT}, ${PAGE})`),
    page("predictions", `keyframe.list_predictions(${HOT_PROJECT}, 'video', ${PAGE}, ${FAR_DOWN})`),
  ),
  as("service_role", "page of deliveries", ...deliveries("null")),
  as("service_role", "page of delivered ones", ...deliveries("'delivered'")),
  as("service_role", "page of exhausted ones", ...deliveries("'exhausted'")),
  as(HOT, "webhook_health", ["jsonb_array_length(keyframe.webhook_health() -> 'endpoints')", 2]),
  as("service_role", "claim predictions", [
    "(select count(*)::int from keyframe_worker.claim_predictions(20, 60, 60000))",
    20,
  ]),
  { ...as("service_role", "claim deliveries", [CLAIM, BATCH]), after: record(RESULTS) },
  {
    ...as("service_role", "record deliveries", [record("$1::text"), BATCH]),
    ...{ before: [CLAIM, RESULTS], after: "1" },
  },
  as("superuser", "sweep", ["(select count(*)::int from keyframe_private.sweep())", 1]),
  as("superuser", "prune 100 events", ["keyframe_private.prune_webhooks(100)", 100]),
  // Counts what disabled endpoints hold, which grows with the rest.
  {
    ...as("service_role", "figures of the service", ["(keyframe.service_figures() is not null)::int", 1]),
    aimed: false,
  },
];

/** ms that the operation took. Throws when it returned another number of rows. */
export async function runOperation(sql: postgres.Sql, operation: Operation): Promise<number> {
  const { name, caller, before = [], expressions, after } = operation;
  let took = 0;
  await sql
    .begin(async (transaction) => {
      await become(transaction, caller);
      let given: string[] = [];
      for (const expression of before) given = [await readValue<string>(transaction, expression, [])];
      const start = performance.now();
      for (const [expression, rows] of expressions) {
        const found = await readValue<number>(transaction, expression, given);
        if (found !== rows) throw new Error(`${name} came to ${found} rows instead of ${rows}: ${expression}`);
      }
      took = performance.now() - start;
      if (after === undefined) throw ROLL_BACK;
      await readValue(transaction, after, []);
    })
    .catch((error) => {
      if (error !== ROLL_BACK) throw error;
    });
  return took;
}

const ROLL_BACK = new Error("Rolled back: nothing is to change.");

async function readValue<T>(sql: postgres.TransactionSql, expression: string, args: string[]): Promise<T> {
  const [row] = await sql.unsafe<{ value: T }[]>(`select ${expression} as value`, args, { prepare: true });
  if (row === undefined) throw new Error(`No row of ${expression}`);
  return row.value;
}

/** Sets role and claims as PostgREST does. */
async function become(sql: postgres.TransactionSql, caller: Caller): Promise<void> {
  if (caller === "superuser") return;
  const role = caller === "service_role" ? caller : "authenticated";
  await sql`
    select set_config('request.jwt.claims', json_strip_nulls(json_build_object('role', c.role, 'sub', c.sub))::text, true),
      set_config('request.jwt.claim.role', c.role, true), set_config('request.jwt.claim.sub', coalesce(c.sub, ''), true)
    from (select ${role}::text as role, md5('owner ' || ${caller === "service_role" ? null : caller.owner}::int)::uuid::text as sub) c`;
  await sql.unsafe(`set local role ${role}`);
}

/** Tables that grow with the history. Others may be read whole. */
const GROWING = [
  ...["projects", "predictions", "provider_runs"],
  ...["webhook_events", "webhook_deliveries", "webhook_attempts", "webhook_hours"],
];
/** Postgres rightly reads a table of so few rows whole. */
const FEW_ROWS = 2_000;
/** The most rows that a scan of an operation with an aim may read. */
const MOST_ROWS = 1_000;
/** The figures count what is pending, which may be many for disabled endpoints. */
const MOST_COUNTED = 100_000;

/**
 * Runs every operation with auto_explain, functions and triggers included. Throws when one reads a growing table
 * whole, or more rows of it than its answer needs. Returns how many plans used an index of such a table.
 */
export async function checkPlans({ url, predictions }: Size): Promise<number> {
  let seen = 0;
  for (const operation of OPERATIONS) {
    const plans = await plansOf(url, (sql) => runOperation(sql, operation));
    const most = operation.aimed ? MOST_ROWS : MOST_COUNTED;
    for (const plan of plans) {
      const scans = scansOf(plan).filter(({ table }) => GROWING.includes(table));
      const wrong = scans.find(({ whole, rows }) => rows > (whole ? FEW_ROWS : most));
      if (wrong !== undefined) {
        const how = wrong.whole ? "whole" : `${wrong.rows} rows of it`;
        throw new Error(
          `${operation.name} at ${predictions.toLocaleString("en-US")} predictions reads ${wrong.table}, ${how}:\n${plan}`,
        );
      }
      if (scans.some(({ whole }) => !whole)) seen++;
    }
  }
  if (seen < OPERATIONS.length) throw new Error(`Only ${seen} plans were seen: auto_explain does not report.`);
  return seen;
}

/** The scans of a plan, with the rows that each read over all its loops, filtered ones included. */
function scansOf(plan: string): { table: string; whole: boolean; rows: number }[] {
  return plan.split(/\n(?=\s*->)/).flatMap((node) => {
    const [, kind, table] = /(\w+ (?:Only )?(?:Heap )?)Scan[^\n]* on (\w+)/.exec(node) ?? [];
    const [, rows, loops] = /actual rows=([\d.]+) loops=(\d+)/.exec(node) ?? [];
    if (kind === undefined || table === undefined) return [];
    const removed = /Rows Removed by Filter: (\d+)/.exec(node)?.[1] ?? 0;
    return [{ table, whole: kind.startsWith("Seq"), rows: (Number(rows) + Number(removed)) * Number(loops) }];
  });
}
