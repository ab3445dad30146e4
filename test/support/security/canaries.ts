import { Buffer } from "node:buffer";
import type postgres from "postgres";

/** A word that stands nowhere else, and the places where it may be found. */
export type Canary = {
  word: string;
  /** Columns as schema.table.column. Logs, the queue of requests and answers are never among them. */
  allowed?: readonly string[];
};

export type Find = { canary: string; where: string };

/**
 * Keeps every request that is ever queued for pg_net in security_watch.requests, because the queue deletes what it has sent.
 * As a superuser, before anything is queued.
 */
export async function keepQueuedRequests(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create schema security_watch;
    create table security_watch.requests (like net.http_request_queue);
    create function security_watch.keep() returns trigger language plpgsql security definer set search_path = '' as $$
    begin
      insert into security_watch.requests select new.*;
      return null;
    end $$;
    create trigger keep_queued after insert on net.http_request_queue for each row execute function security_watch.keep()`);
}

/** Looks through every column of every table of a database, bytes as text too, and returns where each canary is. */
export async function searchTables(sql: postgres.Sql, canaries: Record<string, Canary>): Promise<Find[]> {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') order by 1`;
  const found = new Set<string>();
  for (const { name } of tables) {
    for (const row of await sql.unsafe<Record<string, unknown>[]>(`select * from ${name}`)) {
      for (const [column, value] of Object.entries(row)) {
        const text = asText(value);
        for (const [canary, { word, allowed = [] }] of Object.entries(canaries)) {
          const where = `${name}.${column}`;
          if (text.includes(word) && !allowed.includes(where)) found.add(JSON.stringify({ canary, where }));
        }
      }
    }
  }
  return [...found].map((each) => JSON.parse(each) as Find); // what was written two lines above
}

function asText(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Looks through every file below a folder, save those that `skip` names by their path below it. */
export function searchFiles(
  folder: string,
  words: Record<string, string | RegExp>,
  skip: (path: string) => boolean,
): Find[] {
  const found: Find[] = [];
  const walk = (path: string) => {
    for (const { name, isDirectory, isFile } of Deno.readDirSync(`${folder}/${path}`)) {
      const below = path === "" ? name : `${path}/${name}`;
      if (skip(below)) continue;
      if (isDirectory) walk(below);
      if (!isFile) continue;
      const text = Buffer.from(Deno.readFileSync(`${folder}/${below}`)).toString("latin1");
      for (const [canary, word] of Object.entries(words))
        if (typeof word === "string" ? text.includes(word) : word.test(text)) found.push({ canary, where: below });
    }
  };
  walk("");
  return found;
}
