import postgres from "postgres";
import { makeTemplate, onServer } from "../../../test/support/make-template.ts";
import type { BenchStack } from "../stack.ts";

/** A database with a history of so many predictions, and one connection that keeps its plans, as PostgREST's do. */
export type Size = { predictions: number; url: string; sql: postgres.Sql };

/** Databases beside the stack's own in the same Postgres, where no function and no cron job runs. Dropped by `end`. */
export async function openSizes(stack: BenchStack, progress: (text: string) => void) {
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-growth-" });
  const template = await makeTemplate(stack.databaseUrl, stack.keys.postgresPassword, dataDir);
  const opened: Size[] = [];

  const open = async (predictions: number, fill: Omit<FillOptions, "progress">): Promise<Size> => {
    const name = `keyframe_growth_${crypto.randomUUID().slice(0, 8)}`;
    await onServer(stack.databaseUrl, (sql) =>
      sql.unsafe(`create database ${name} template ${new URL(template.url).pathname.slice(1)}`),
    );
    const url = new URL(stack.databaseUrl);
    url.pathname = `/${name}`;
    const sql = postgres(url.href, { max: 1, onnotice: () => undefined });
    const size = { predictions, url: url.href, sql };
    opened.push(size);
    await fillDatabase(size.sql, predictions, { ...fill, progress });
    return size;
  };

  const end = async () => {
    try {
      for (const { sql, url } of opened) {
        await sql.end({ timeout: 5 });
        await onServer(stack.databaseUrl, (server) =>
          server.unsafe(`drop database if exists ${new URL(url).pathname.slice(1)} with (force)`),
        );
      }
      await template.drop();
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  };
  return { open, end };
}

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

type FillOptions = {
  /** Due deliveries for each of fifty endpoints. */
  due: number;
  sortedIndexes: boolean;
  progress: (text: string) => void;
};

/**
 * Fills a migrated database with a history of so many predictions with three deliveries each. With `sortedIndexes` the
 * indexes are built afterwards, which is faster and leaves them denser than use does.
 */
async function fillDatabase(
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
      // Needed further down: without this index the joins would sort or hash.
      if (sortedIndexes && name === "predictions") await session.unsafe("reindex table keyframe.projects");
      await session.unsafe(statements.join("\n"));
      progress(`${predictions.toLocaleString("en-US")} predictions: ${name}, ${seconds(start)}`);
    }
  } finally {
    await session.unsafe("reset all");
    session.release();
  }
}

/** Removes dead rows of rolled-back calls. Autovacuum would do so at the smaller sizes only. */
export async function vacuum(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`vacuum (index_cleanup on) ${TABLES.join(", ")}`);
}

const OF_TABLES = `indrelid = any (array['${TABLES.join("', '")}']::regclass[])`;
const seconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Builds indexes and does what autovacuum would have done: statistics and the visibility map. */
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
