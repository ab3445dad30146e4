import { within } from "../bounded-wait.ts";
import { runChild } from "../run-child.ts";
import type { Log } from "./keep-connected.ts";
import { runPgCronWorker } from "./pg-cron-worker.ts";
import { runPgNetWorker } from "./pg-net-worker.ts";

/** How long running requests and jobs may take at the end. The next start repeats unfinished requests. */
const GRACE_MS = 5_000;
/** How long the rollback of the batch may take before the process exits. */
const ROLLBACK_MS = 1_000;

const WORKERS = { pg_net: runPgNetWorker, pg_cron: runPgCronWorker };

export type SchedulerSettings = {
  databaseUrl: string;
  /** The extensions that have a stand-in on this database. */
  standIns: (keyof typeof WORKERS)[];
};

const log: Log = (level, message, details) => {
  console.log(JSON.stringify({ time: new Date().toISOString(), level, message, ...details }));
};

await runChild<SchedulerSettings>(async ({ databaseUrl, standIns }) => {
  const stop = new AbortController();
  const abandon = new AbortController();
  const signals = { stop: stop.signal, abandon: abandon.signal };
  const running = standIns.map((name) => {
    const ready = Promise.withResolvers<void>();
    return { ready: ready.promise, ended: WORKERS[name]({ databaseUrl, ...signals, onReady: ready.resolve, log }) };
  });
  await Promise.all(running.map(({ ready }) => ready));
  return async () => {
    stop.abort();
    const ended = Promise.all(running.map((worker) => worker.ended));
    await within(ended, GRACE_MS, () => abandon.abort());
    await within(ended, ROLLBACK_MS, () => undefined);
  };
});
