import { z } from "zod";
import { readEnvironment } from "../../shared/platform/environment.ts";
import type { Log } from "./keep-connected.ts";
import { runPgCronWorker } from "./pg-cron-worker.ts";
import { runPgNetWorker } from "./pg-net-worker.ts";

/** How long running requests and jobs may take at the end. The next start repeats unfinished requests. */
const GRACE_MS = 5_000;
/** How long the rollback of the batch may take before the process exits. */
const ROLLBACK_MS = 1_000;

const flag = z.enum(["0", "1"]);
const settings = z.object({ DATABASE_URL: z.string(), RUN_PG_NET: flag, RUN_PG_CRON: flag });

/** The scheduler: the workers of those extensions that have a stand-in on this database. */
async function main(): Promise<void> {
  const env = readEnvironment(settings, (name) => Deno.env.get(name));
  const stop = new AbortController();
  const abandon = new AbortController();
  const end = () => {
    if (stop.signal.aborted) return;
    stop.abort();
    setTimeout(() => {
      abandon.abort();
      setTimeout(() => Deno.exit(0), ROLLBACK_MS);
    }, GRACE_MS);
  };
  Deno.addSignalListener("SIGTERM", end);
  Deno.addSignalListener("SIGINT", end);

  const workers = [
    ...(env.RUN_PG_NET === "1" ? [runPgNetWorker] : []),
    ...(env.RUN_PG_CRON === "1" ? [runPgCronWorker] : []),
  ];
  const starting = new Set<unknown>(workers);
  const announce = () => {
    // It has no port, but every process of the stack prints the field.
    if (starting.size === 0) console.log(JSON.stringify({ ready: true, port: 0 }));
  };
  if (workers.length === 0) announce();
  const common = { databaseUrl: env.DATABASE_URL, stop: stop.signal, abandon: abandon.signal, log };
  await Promise.all(workers.map((run) => run({ ...common, onReady: () => void (starting.delete(run) && announce()) })));
  if (workers.length === 0) await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
  Deno.exit(0);
}

const log: Log = (level, message, details) => {
  console.log(JSON.stringify({ time: new Date().toISOString(), level, message, ...details }));
};

await main();
