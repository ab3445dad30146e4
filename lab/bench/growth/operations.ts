import type postgres from "postgres";

type Caller = "service_role" | "superuser" | { owner: number };

/**
 * What is measured at every size: expressions that one caller evaluates one after the other, each answering how many rows it came
 * to. It runs in a transaction that is rolled back, so that each time it finds the same, unless there is enough of what it uses up.
 */
export type Operation = {
  name: string;
  /** Whether its median at the largest size has an aim. */
  aimed: boolean;
  caller: Caller;
  /** What it needs, not measured. The last value, a text, is `$1` of the expressions. */
  before?: string[];
  expressions: [expression: string, rows: number][];
  /** What puts things in order, not measured. The transaction is then committed. */
  after?: string;
};

/** The owner of a tenth of everything, whose first project has a twentieth of it. */
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

/** Each claim finds other deliveries: rolled back, it would come back to the same, and to what is dead of its own leases. */
const BATCH = 100;
const exchange = (results: string, rows: number) =>
  `keyframe_worker.exchange_deliveries(${results}, ${rows}, 60, 60000)::jsonb`;
const CLAIM = `jsonb_array_length(${exchange("'[]'", BATCH)} -> 'deliveries')`;
const RESULTS = "(select bench.results())";
const record = (results: string) => `(${exchange(`${results}::jsonb`, 0)} ->> 'recorded')::int`;

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
  // What dead endpoints hold is counted in it, and they grow with the rest.
  {
    ...as("service_role", "figures of the service", ["(keyframe.service_figures() is not null)::int", 1]),
    aimed: false,
  },
];

/** ms that the operation took. Throws when it came to other rows than it should. */
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

/** Acts for somebody as PostgREST does. */
async function become(sql: postgres.TransactionSql, caller: Caller): Promise<void> {
  if (caller === "superuser") return;
  const role = caller === "service_role" ? caller : "authenticated";
  await sql`
    select set_config('request.jwt.claims', json_strip_nulls(json_build_object('role', c.role, 'sub', c.sub))::text, true),
      set_config('request.jwt.claim.role', c.role, true), set_config('request.jwt.claim.sub', coalesce(c.sub, ''), true)
    from (select ${role}::text as role, md5('owner ' || ${caller === "service_role" ? null : caller.owner}::int)::uuid::text as sub) c`;
  await sql.unsafe(`set local role ${role}`);
}
