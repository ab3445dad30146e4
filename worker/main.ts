import { parseOptions, runMain, stopSignals } from "../command-line/run-main.ts";
import { createCallDatabase } from "../shared/platform/call-database.ts";
import { createLog, describeError } from "../shared/platform/log.ts";
import { createDeliverWorker } from "../supabase/functions/keyframe-deliver/deliver-worker.ts";
import { DATABASE_TIMEOUT_MS } from "../supabase/functions/keyframe-deliver/deliveries/delivery-work.ts";
import { createGenerateWorker } from "../supabase/functions/keyframe-generate/generate-worker.ts";
import { createSettingsCheck, type Connection } from "./check-settings.ts";
import { createDirectDatabase } from "./direct-database.ts";
import { serveHealth } from "./health.ts";
import { readWorkerSettings, type WorkerName } from "./settings.ts";

const HELP = `npm run worker -- [options]   runs generate and deliver as a process, beside the edge functions or instead of them

  --only NAME        generate or deliver; without it, both
  --listen ADDRESS   a health check: 200 while the database answers, otherwise 503; 8080: on this machine only, 0.0.0.0:8080: on all addresses

  SUPABASE_URL, SUPABASE_SECRET_KEYS   as edge functions have them: {"default":"sb_secret_…"}
  SUPABASE_DB_URL                      Postgres, instead of the Data API; the secret key is then for Storage
  KEYFRAME_REPLICATE_API_TOKEN         for generate
  KEYFRAME_WORKER_LISTEN               instead of --listen

SIGTERM or Ctrl-C: finishes its work, claims no more, and exits; a second one: exits at once. See docs/workers.md.`;

/**
 * The time limits of the Data API, which ends a statement after 8 s, and exchange_deliveries after 4. generate has one connection for its
 * claims, which wait in the database, and four for the results of its tasks; deliver makes one call at a time.
 */
const GENERATE_DATABASE = { connections: 5, statementMs: 8_000, timeoutMs: 10_000 };
const DELIVER_DATABASE = { connections: 1, statementMs: 4_000, timeoutMs: DATABASE_TIMEOUT_MS };

/** A terminal's Ctrl-C reaches the process twice, from the terminal and from npm. */
const AGAIN_AFTER_MS = 1_000;
const INTERRUPTED = 130;

type DataApi = { SUPABASE_URL: string; SUPABASE_SECRET_KEYS: string };
type RunningWorker = { name: WorkerName; stay(until: AbortSignal): Promise<void>; answeredMsAgo(): number };

async function main(): Promise<number> {
  const { values } = parseOptions({ options: { only: { type: "string" }, listen: { type: "string" } } });
  const { address, database, health, generate, deliver } = readWorkerSettings(values, (name) => Deno.env.get(name));
  const log = createLog({ function: "keyframe-worker" });
  exitOnUnexpected((error) => log.error("unexpected_error", { reason: describeError(error) }));
  const stop = stopSignals();
  exitOnSecondSignal(stop);

  await using ends = new AsyncDisposableStack();
  /** It connects at its first call, so one that no worker uses costs nothing. */
  const openDatabase = (limits: typeof GENERATE_DATABASE): Connection => {
    if (!(database instanceof URL)) return openDataApi(database, limits);
    const { call, end } = createDirectDatabase({ url: database, ...limits });
    ends.defer(end);
    return { setting: "SUPABASE_DB_URL", call };
  };
  const generateDatabase = openDatabase(GENERATE_DATABASE);
  const deliverDatabase = openDatabase(DELIVER_DATABASE);
  const connections = [
    ...(generate ? [generateDatabase] : []),
    ...(generate && database instanceof URL ? [openDataApi(generate, GENERATE_DATABASE)] : []), // the address of Storage
    ...(deliver ? [deliverDatabase] : []),
  ];
  const check = createSettingsCheck(connections, address, log);
  const common = { now: check.now, address };
  const workers: RunningWorker[] = [];
  if (generate) {
    const worker = createGenerateWorker({
      environment: generate,
      callDatabase: generateDatabase.call,
      log: createLog({ function: "keyframe-generate" }),
      ...common,
    });
    workers.push({ name: "generate", ...worker });
  }
  if (deliver) {
    const worker = createDeliverWorker({
      allowLocal: deliver.KEYFRAME_ALLOW_LOCAL_WEBHOOKS,
      callDatabase: deliverDatabase.call,
      log: createLog({ function: "keyframe-deliver" }),
      ...common,
    });
    workers.push({ name: "deliver", ...worker });
  }
  if (health) serveHealth(workers, health);

  if (!(await check.untilPassed(stop))) return 0;
  log.info("worker_started", {
    workers: workers.map(({ name }) => name),
    database: database instanceof URL ? "connection" : "data_api",
  });
  const wrong = new AbortController();
  const end = AbortSignal.any([stop, wrong.signal]);
  void check.watch(end).catch((error) => {
    log.error("setting_wrong", { reason: describeError(error) });
    wrong.abort(error);
  });
  await Promise.all(workers.map(({ stay }) => stay(end)));
  wrong.signal.throwIfAborted();
  log.info("worker_ended");
  return 0;
}

const openDataApi = (
  { SUPABASE_URL, SUPABASE_SECRET_KEYS }: DataApi,
  { timeoutMs }: { timeoutMs: number },
): Connection => ({
  setting: "SUPABASE_URL",
  call: createCallDatabase(SUPABASE_URL, SUPABASE_SECRET_KEYS, fetch, timeoutMs),
});

function exitOnSecondSignal(stop: AbortSignal): void {
  let signaledAt = Number.POSITIVE_INFINITY;
  stop.addEventListener("abort", () => {
    signaledAt = performance.now();
  });
  for (const signal of Deno.build.os === "windows" ? (["SIGINT"] as const) : (["SIGINT", "SIGTERM"] as const)) {
    Deno.addSignalListener(signal, () => {
      if (performance.now() - signaledAt > AGAIN_AFTER_MS) Deno.exit(INTERRUPTED);
    });
  }
}

/** Deno would print an error with its fields, which may contain row data. Leases let another process do what was open. */
function exitOnUnexpected(report: (error: unknown) => void): void {
  for (const event of ["unhandledrejection", "error"] as const) {
    globalThis.addEventListener(event, (problem) => {
      problem.preventDefault();
      report(problem instanceof ErrorEvent ? problem.error : problem.reason);
      Deno.exit(1);
    });
  }
}

runMain(HELP, main);
