import { Logger, run } from "graphile-worker";
import { type Happening, databaseUrl, isDelivered, post, record } from "./post-event.ts";

// Graphile Worker with the settings of its documentation on performance: a local queue of 500 jobs, completions in
// batches, 24 jobs at once and one connection more. It retries by its own schedule, e^attempt seconds.

async function send(payload: unknown, isRecorded: boolean): Promise<void> {
  const attempt = await post(payload as Happening); // the payload is the one that the way inserted
  if (isRecorded) await record([attempt]);
  if (!isDelivered(attempt)) throw new Error(`The receiver answered ${attempt.status}.`);
}

const runner = await run({
  preset: {
    worker: {
      connectionString: databaseUrl,
      concurrentJobs: 24,
      maxPoolSize: 25,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger: new Logger(() => () => undefined), // it logs each failed job
    },
  },
  noHandleSignals: true,
  taskList: { bare: (payload) => send(payload, false), recorded: (payload) => send(payload, true) },
});
await runner.promise;
