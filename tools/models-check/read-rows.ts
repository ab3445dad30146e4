import { join } from "node:path";
import { PostgrestClient } from "@supabase/postgrest-js";
import type postgres from "postgres";
import { z } from "zod";
import { installExtensions } from "../../local/extensions/install-extensions.ts";
import { bootstrapPlatform } from "../../local/platform/bootstrap-platform.ts";
import { onServer } from "../../local/postgres/on-server.ts";
import { startPostgres } from "../../local/postgres/start-postgres.ts";
import { removeData } from "../../local/stack/data-folder.ts";
import { readMigrations } from "../../local/stack/read-migrations.ts";
import { modelRow, type ModelRow } from "./row-inputs.ts";

/** Reads the rows that the migrations insert. */
export const rowsFromMigrations = (signal: AbortSignal): Promise<ModelRow[]> =>
  onThrowAwayDatabase(async (sql) => {
    for (const { text } of await readMigrations()) {
      signal.throwIfAborted();
      await sql.begin((each) => each.unsafe(text));
    }
    const rows = await sql`
      select m.*, exists (select from keyframe.step_defaults d where d.step = m.step and d.model = m.model) as is_default
      from keyframe.models m order by m.step, m.position, m.model`;
    return z.array(modelRow).parse([...rows]);
  });

/** Runs `work` on a temporary Postgres with Supabase's schemas and without migrations. */
async function onThrowAwayDatabase<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-database-" });
  try {
    const server = await startPostgres({ dataDir: join(folder, "postgres"), durable: false });
    return await onServer(server.url, async (sql) => {
      await bootstrapPlatform(sql);
      await installExtensions(sql, { useReal: false });
      return await work(sql);
    }).finally(server.stop);
  } finally {
    await removeData(folder);
  }
}

/** A row as the Data API gives it: a default has an entry in `step_defaults`. */
const projectRow = modelRow
  .omit({ is_default: true })
  .extend({ step_defaults: z.unknown() })
  .transform(({ step_defaults, ...row }): ModelRow => ({ ...row, is_default: [step_defaults].flat().some(Boolean) }));

/** Reads the rows through a project's Data API with its secret key. Throws one line without the key. */
export async function rowsFromProject(url: string, key: string, fetcher: typeof fetch): Promise<ModelRow[]> {
  const headers = { apikey: key, authorization: `Bearer ${key}` };
  const { data, error, status } = await new PostgrestClient(`${url}/rest/v1`, {
    headers,
    schema: "keyframe",
    fetch: fetcher,
    retry: false,
  })
    .from("models")
    .select("step,model,controls,fixed,output,step_defaults(step)")
    .order("step")
    .order("position")
    .order("model");
  if (status === 401 || status === 403) {
    throw new Error(`${url} refuses the key (${status}): it must be the project's secret key.`);
  }
  if (error && status === 0) throw new Error(`${url} cannot be reached: ${error.message.slice(0, 200)}`);
  if (error) throw new Error(`${url} answered ${status}: ${error.message.slice(0, 200)}`);
  const parsed = z.array(projectRow).safeParse(data);
  if (!parsed.success) throw new Error(`${url} answered with no rows of models: is SUPABASE_URL right?`);
  return parsed.data;
}

const TIMEOUT_MS = 30_000;

/** A fetch whose every request ends with `signal`, and goes to no other host: it carries a secret. */
export function fetchUntil(signal: AbortSignal): typeof fetch {
  return (input, init) =>
    fetch(input, { ...init, redirect: "manual", signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
}
