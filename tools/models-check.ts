import { z } from "zod";
import { parseOptions, runMain, stopSignals } from "../command-line/run-main.ts";
import { httpUrl, readEnvironment, supabaseSecretKeys } from "../shared/platform/environment.ts";
import { fetchUntil, rowsFromMigrations, rowsFromProject } from "./models-check/read-rows.ts";
import { report, runCheck } from "./models-check/run-check.ts";

const HELP = `npm run models:check -- [options]   compares models with what each model publishes on Replicate

  --record   rewrites the schemas in local/simulator/schemas from Replicate: after npm run format, the diff
             shows what changed there

  SUPABASE_URL with SUPABASE_SECRET_KEY (or SUPABASE_SECRET_KEYS)   the table of this project
  KEYFRAME_REPLICATE_API_TOKEN      what Replicate publishes now, instead of the recorded schemas; costs nothing
  KEYFRAME_REPLICATE_API_BASE_URL   another address of its API

  Without any of these: the rows of the migrations, against the recorded schemas.
  Exits with 0 when every row fits, 1 when one does not, 2 when the check could not be made.`;

const environment = z.object({
  SUPABASE_URL: httpUrl.optional(),
  SUPABASE_SECRET_KEYS: supabaseSecretKeys.optional(),
  SUPABASE_SECRET_KEY: z.string().optional(),
  KEYFRAME_REPLICATE_API_TOKEN: z.string().optional(),
  KEYFRAME_REPLICATE_API_BASE_URL: httpUrl.default("https://api.replicate.com/v1"),
});

async function main(): Promise<number> {
  const { record } = parseOptions({ options: { record: { type: "boolean", default: false } } }).values;
  const env = readEnvironment(environment, (name) => Deno.env.get(name));
  const { SUPABASE_URL: url, KEYFRAME_REPLICATE_API_TOKEN: token, KEYFRAME_REPLICATE_API_BASE_URL: baseUrl } = env;
  if (record && token === undefined)
    throw new Error("--record reads from Replicate: set KEYFRAME_REPLICATE_API_TOKEN.");
  const signal = stopSignals();
  const fetcher = fetchUntil(signal);
  const key = env.SUPABASE_SECRET_KEY ?? env.SUPABASE_SECRET_KEYS;
  const isProject = url !== undefined && key !== undefined;
  const source = isProject ? `the project ${url}` : "this repository's migrations";
  const rows = isProject ? await rowsFromProject(url, key, fetcher) : await rowsFromMigrations(signal);
  if (rows.length === 0) throw new Error(`models has no rows in ${source}.`);
  const provider = token === undefined ? undefined : { baseUrl, token, fetch: fetcher };
  const today = new Date().toISOString().slice(0, 10);
  const result = await runCheck({ rows, record, today, ...(provider && { provider }) });
  console.log(report(result, source));
  return result.findings.length === 0 ? 0 : 1;
}

runMain(HELP, main, { failed: 2 });
