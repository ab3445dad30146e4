import { runMain, stopSignals } from "../local/stack/command-line.ts";
import { readArguments } from "./models-check/read-arguments.ts";
import { abortable, nameRows, readRows } from "./models-check/read-rows.ts";
import { report, runCheck } from "./models-check/run-check.ts";

const HELP = `npm run models:check -- [options]   compares models with what each model publishes on Replicate

  --record   writes the schemas in local/simulator/schemas anew, from Replicate: once npm run format has run, the difference
             shows what has changed there

  SUPABASE_URL with SUPABASE_SECRET_KEY (or SUPABASE_SECRET_KEYS)   the table of this project
  KEYFRAME_REPLICATE_API_TOKEN      what Replicate publishes now, instead of the recorded schemas; costs nothing
  KEYFRAME_REPLICATE_API_BASE_URL   another address of its API

  Without any of these: the rows of the migrations, against the recorded schemas.
  Ends with 0 when every row fits, 1 when one does not, 2 when it could not be found out.`;

async function main(): Promise<number> {
  const { rows: source, provider, record } = readArguments(Deno.args, (name) => Deno.env.get(name));
  const signal = stopSignals();
  const rows = await readRows(source, signal);
  const today = new Date().toISOString().slice(0, 10);
  const result = await runCheck({
    rows,
    record,
    today,
    ...(provider ? { provider: { ...provider, fetch: abortable(signal) } } : {}),
  });
  console.log(report(result, nameRows(source)));
  return result.findings.length === 0 ? 0 : 1;
}

runMain(HELP, main, { failed: 2 });
