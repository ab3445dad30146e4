import type postgres from "postgres";
import type { Aim, Table } from "../benchmark.ts";
import { spreadOf } from "../measure/spread.ts";
import { churnMinute } from "./churn.ts";
import type { Size } from "./open-sizes.ts";

const TABLES = [
  "keyframe.projects",
  "keyframe.predictions",
  "keyframe.webhook_events",
  "keyframe.webhook_deliveries",
  "keyframe.webhook_attempts",
  "keyframe_private.delivery_leases",
  "keyframe_private.webhook_hours",
  "keyframe_private.file_removals",
];
/** Of the rows, that a minute makes anew. */
const SHARE = 50;
/** A real minute has one nap of autovacuum, and so has a simulated one: a second is the shortest there is. */
const MINUTE_MS = 1_000;

/**
 * An hour of use in a minute or two: the rows stay as many, for what is oldest goes as fast as new comes. Autovacuum is compressed
 * with it (hurryAutovacuum): it looks every second instead of every minute, and does not pause to spare the disk. Before the hour
 * every row has been replaced once, so that the sizes are those of use and not of the fill.
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
    // Five minutes after a fill, sizes are still becoming those of use.
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

/** How many updates wrote no index, and how often autovacuum came, since the table was filled. */
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
