import postgres from "postgres";
import type { Aim, Table } from "../benchmark.ts";
import { spreadOf } from "../measure.ts";
import type { Size } from "./databases.ts";

const TABLES = [
  "keyframe.projects",
  "keyframe.predictions",
  "keyframe.webhook_events",
  "keyframe.webhook_deliveries",
  "keyframe.webhook_attempts",
  "keyframe_private.lanes",
  "keyframe_private.webhook_hours",
  "keyframe_private.file_removals",
];
/** One in so many rows is replaced in a minute. */
const SHARE = 50;
/** One nap of autovacuum, as in a real minute; a second is the shortest nap. */
const MINUTE_MS = 1_000;

/**
 * Simulates an hour of use: the oldest rows are deleted as fast as new ones come, and autovacuum runs every second
 * instead of every minute, without pauses. Every row is replaced once before, so that the sizes are not those of the
 * fill.
 */
export async function measureChurn(
  { sql, predictions }: Size,
  quick: boolean,
  progress: (text: string) => void,
): Promise<{ table: Table; aims: Aim[] }> {
  const runIn = quick ? 0 : SHARE;
  const minutes = quick ? 5 : 60;
  await sql`update keyframe_private.settings set webhook_retention = '1 microsecond', max_active_per_owner = 1000`;
  let before: Sizes = {};
  for (let minute = 1; minute <= runIn + minutes; minute++) {
    const start = performance.now();
    await churnMinute(sql, minute, predictions / SHARE);
    if (minute % 10 === 0) progress(`churn: minute ${minute} of ${runIn + minutes}`);
    const left = MINUTE_MS - (performance.now() - start);
    if (!quick && left > 0) await new Promise((resolve) => setTimeout(resolve, left));
    if (minute === runIn + Math.ceil(minutes / 10)) before = await readSizes(sql);
  }
  const after = await readSizes(sql);
  const use = await readUse(sql);
  const total = (sizes: Sizes) => Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0);
  return {
    table: {
      caption: `Table and indexes, ${minutes} simulated minutes`,
      unit: "MB",
      columns: ["after the first tenth", "at the end", "updates in place (HOT)", "vacuums"],
      rows: TABLES.map((name) => ({
        name: name.replace(/^\w+\./, ""),
        cells: [megabytes(before[name]), megabytes(after[name]), use[name]?.hot ?? null, use[name]?.vacuums ?? null],
      })),
    },
    // Five minutes after a fill, sizes still change.
    aims: quick
      ? []
      : [
          {
            name: "size of the queue's tables and indexes after the hour, beside its first tenth",
            ratio: spreadOf([total(after) / total(before)]),
            atMost: 1.1,
          },
        ],
  };
}

type Sizes = Record<string, number>;

const megabytes = (bytes = Number.NaN) => spreadOf([bytes / 1e6]);

async function readSizes(sql: postgres.Sql): Promise<Sizes> {
  const rows = await sql<{ name: string; bytes: number }[]>`
    select name, pg_total_relation_size(name::regclass)::float as bytes from unnest(${TABLES}::text[]) name`;
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
}

/** How many updates wrote no index, and how often autovacuum ran, since the fill. */
async function readUse(sql: postgres.Sql): Promise<Record<string, { hot: string; vacuums: string }>> {
  await sql`select pg_stat_force_next_flush()`;
  const rows = await sql<{ name: string; updates: number; hot: number; vacuums: number }[]>`
    select name, n_tup_upd::int as updates, n_tup_hot_upd::int as hot, autovacuum_count::int as vacuums
    from unnest(${TABLES}::text[]) name join pg_stat_user_tables s on s.relid = name::regclass`;
  return Object.fromEntries(
    rows.map(({ name, updates, hot, vacuums }) => [
      name,
      {
        hot: updates === 0 ? "none" : `${Math.round((100 * hot) / updates)} % of ${updates}`,
        vacuums: String(vacuums),
      },
    ]),
  );
}

const PER_PROJECT = 10;
const FAILING = 0.05;
const BATCH = 100;

/**
 * One simulated minute: starts, runs and stores predictions (a multiple of ten) in new projects; sends everything due,
 * of which one in twenty fails; deletes as much of the oldest. Every statement commits. `minute` dates the attempts,
 * so that earlier retries are due. Throws when work is left.
 */
async function churnMinute(sql: postgres.Sql, minute: number, predictions: number): Promise<void> {
  const newProjects = predictions / PER_PROJECT;
  const at = new Date(Date.now() + minute * 60_000);
  const projects = await sql<{ id: string }[]>`
    insert into keyframe.projects (owner_id, title, text_prompt)
    select md5('owner ' || 11 + (${minute}::int * 7 + i) % 80)::uuid, 'Churn', repeat('A harbour at dawn. ', 20)
    from generate_series(1, ${newProjects}::int) i returning id`;
  const ids = projects.map(({ id }) => id);
  await sql`
    insert into keyframe.predictions (project_id, step)
    select id, 'first-frame' from unnest(${ids}::uuid[]) id, generate_series(1, ${PER_PROJECT}::int)`;
  await sql`
    delete from keyframe.projects where id in (
      select id from keyframe.projects order by created_at limit ${newProjects}::int)`;
  await runPredictions(sql);
  await sendDeliveries(sql, at);
  await sql`select keyframe_private.prune_webhooks(${predictions + newProjects}::int)`;
  await checkMinute(sql, ids, predictions);
}

type Task = { task: string; id: string; attempt: number; lease_token: string };

/** As generate does, without the provider: every claimed prediction succeeds at once. */
async function runPredictions(sql: postgres.Sql): Promise<void> {
  for (;;) {
    const rows = await sql<
      { task: Task }[]
    >`select claim_predictions as task from keyframe_worker.claim_predictions(${BATCH}, 60, 60000)`;
    if (rows.length === 0) return;
    const tasks = JSON.stringify(
      rows.map(({ task: { task, id, attempt, lease_token } }) => ({ task, id, attempt, lease_token })),
    );
    for (const status of ["processing", "succeeded"]) {
      await sql`
        select keyframe_worker.record_provider_state(t.id, t.attempt, 'run ' || t.id, ${status}, 'https://replicate.delivery/out.png', 0.5)
        from jsonb_to_recordset(${tasks}::text::jsonb) as t (task text, id uuid, attempt int)
        where t.task in ('submit', 'poll', 'search')`;
    }
    await sql`
      select case t.task
        when 'store' then keyframe_worker.complete_prediction(t.id, t.lease_token, 'out.png', 'image/png', 1000, repeat('a', 64), 1280, 720)
        when 'remove' then keyframe_worker.record_files_removed(t.lease_token) > 0 end
      from jsonb_to_recordset(${tasks}::text::jsonb) as t (task text, id uuid, lease_token uuid)`;
  }
}

type Claimed = { id: string; attempt: number };

/** As deliver does: the outcomes of a batch are recorded with the next claim. */
async function sendDeliveries(sql: postgres.Sql, at: Date): Promise<void> {
  let results: object[] = [];
  let held: object[] = [];
  for (;;) {
    const [row] = await sql<{ lanes: { endpoint_id: string; token: string; deliveries: Claimed[] }[] }[]>`
      select keyframe_worker.exchange_deliveries(
        ${JSON.stringify(results)}::text::jsonb, ${JSON.stringify(held)}::text::jsonb, ${BATCH}, 60, 60000, ${at}) -> 'lanes' as lanes`;
    const lanes = row?.lanes ?? [];
    if (lanes.length === 0) return;
    held = lanes.map(({ endpoint_id, token }) => ({ endpoint_id, token, sending: [], more: true }));
    results = lanes.flatMap(({ token, deliveries }) =>
      deliveries.map(({ id, attempt }, index) => ({
        ...{ id, attempt, lane_token: token, started_at: at, duration_ms: 12 },
        status_code: index % (1 / FAILING) === 0 ? 500 : 200,
      })),
    );
  }
}

async function checkMinute(sql: postgres.Sql, projects: string[], predictions: number): Promise<void> {
  const [row] = await sql<{ stored: number; due: number }[]>`
    select (select count(*)::int from keyframe.predictions p where p.project_id = any (${projects}) and p.status = 'succeeded') as stored,
      (select count(*)::int from keyframe.webhook_deliveries d join keyframe.webhook_endpoints e on e.id = d.endpoint_id
       where d.status = 'pending' and d.attempts = 0 and e.enabled) as due`;
  if (row?.stored !== predictions || row.due !== 0)
    throw new Error(
      `The churn left ${predictions - (row?.stored ?? 0)} predictions undone and ${row?.due} deliveries unsent.`,
    );
}

/**
 * Lets autovacuum of the whole server run every second without pauses, until `restore`. Nothing else may be measured
 * on the server meanwhile.
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
