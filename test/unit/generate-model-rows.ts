import { join } from "node:path";
import postgres from "postgres";
import { z } from "zod";
import { startPostgres } from "../../local/postgres/start-postgres.ts";
import { step } from "../../shared/contract/fields.ts";
import { modelSettings } from "../../shared/replicate/build-input.ts";

const row = z.object({ step, model: z.string(), settings: modelSettings });
const migrations = new URL("../../supabase/migrations/", import.meta.url);

/** The rows of models as its migration ships them, read from a throw-away Postgres. */
export async function readModelRows(): Promise<z.infer<typeof row>[]> {
  const dataDir = await Deno.makeTempDir({ prefix: "kf-generate-models-" });
  const server = await startPostgres({ dataDir: join(dataDir, "data"), durable: false });
  const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
  try {
    const files = Array.from(Deno.readDirSync(migrations), ({ name }) => name);
    const [file] = files.filter((name) => name.endsWith("_models.sql"));
    if (!file) throw new Error("there is no migration of models");
    await sql.unsafe(
      "create role anon; create role authenticated; create role service_role; create schema keyframe; create schema keyframe_private",
    );
    await sql.unsafe(await Deno.readTextFile(new URL(file, migrations)));
    const rows = await sql`select step, model, to_jsonb(m) as settings from keyframe.models m order by step, model`;
    return z.array(row).parse([...rows]);
  } finally {
    await sql.end();
    await server.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
}
