import type postgres from "postgres";

const TABLES = [
  "keyframe.projects",
  "keyframe.predictions",
  "keyframe_private.provider_runs",
  "keyframe.webhook_endpoints",
  "keyframe.webhook_events",
  "keyframe.webhook_deliveries",
  "keyframe.webhook_attempts",
  "keyframe_private.webhook_hours",
];

export type FillOptions = {
  /** Deliveries that are due, for each of fifty endpoints. */
  due: number;
  sortedIndexes: boolean;
  progress: (text: string) => void;
};

/**
 * Gives a migrated database a past of so many predictions with three deliveries each, and says of each step how long it took.
 * With `sortedIndexes` the indexes are built when the rows are there, which is many times as fast and leaves them denser than
 * use does; without, they grow row by row.
 */
export async function fillDatabase(
  sql: postgres.Sql,
  predictions: number,
  { due, sortedIndexes, progress }: FillOptions,
): Promise<void> {
  const text = await Deno.readTextFile(new URL("fill.sql", import.meta.url));
  const owners = Math.max(100, predictions / 100);
  const [, ...steps] = text
    .replaceAll(":predictions", String(predictions))
    .replaceAll(":owners", String(owners))
    .replaceAll(":due", String(due))
    .split("-- step: ");
  const session = await sql.reserve();
  try {
    await session.unsafe(`
      set session_replication_role = replica; set synchronous_commit = off;
      set work_mem = '64MB'; set maintenance_work_mem = '256MB'`);
    if (sortedIndexes)
      await session.unsafe(`update pg_index set indisready = false, indisvalid = false where ${OF_TABLES}`);
    for (const step of steps) {
      const start = performance.now();
      const [name = "", ...statements] = step.split("\n");
      if (name === "settings") await finish(session, sortedIndexes, progress);
      // Read by identifier further down; without it the joins would sort or hash what an index finds.
      if (sortedIndexes && name === "predictions") await session.unsafe("reindex table keyframe.projects");
      await session.unsafe(statements.join("\n"));
      progress(`${predictions.toLocaleString("en-US")} predictions: ${name}, ${seconds(start)}`);
    }
  } finally {
    await session.unsafe("reset all");
    session.release();
  }
}

/**
 * Takes the dead rows out that rolled back calls have left. Autovacuum would at the smaller sizes alone, where they
 * are more than a few per cent.
 */
export async function vacuum(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`vacuum (index_cleanup on) ${TABLES.join(", ")}`);
}

const OF_TABLES = `indrelid = any (array['${TABLES.join("', '")}']::regclass[])`;
const seconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Indexes, then what autovacuum would have done by now: statistics, and pages that are known to be visible to all. */
async function finish(
  session: postgres.ReservedSql,
  sortedIndexes: boolean,
  progress: (text: string) => void,
): Promise<void> {
  const start = performance.now();
  if (sortedIndexes) for (const table of TABLES) await session.unsafe(`reindex table ${table}`);
  await session.unsafe(`vacuum (analyze) ${TABLES.join(", ")}`);
  await session.unsafe("analyze auth.users");
  progress(`indexes and statistics, ${seconds(start)}`);
}
