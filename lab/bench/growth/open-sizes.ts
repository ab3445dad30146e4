import postgres from "postgres";
import { makeTemplate, onServer } from "../../../test/support/make-template.ts";
import type { BenchStack } from "../bench-stack.ts";
import { type FillOptions, fillDatabase } from "./fill-database.ts";

/** A database with a past of so many predictions, and one connection to it, as a session of PostgREST keeps its plans. */
export type Size = { predictions: number; url: string; sql: postgres.Sql };

/**
 * Databases beside the stack's own in the same Postgres, where no function and no cron job meets what is due in them. One for
 * each number of predictions, filled one after the other. Dropped by `end`.
 */
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
