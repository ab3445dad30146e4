import { Logger, run } from "graphile-worker";
import { Pool } from "pg";
import { databaseUrl, ENDPOINTS, type Happening, isDelivered, post, record } from "./post-event.ts";

// Graphile Worker with the settings of its documentation on performance: a local queue, completions in batches, one
// connection more than jobs at once. It retries by its own schedule, e^attempt seconds. In its favour each endpoint has a
// runner of its own; with a named queue for each, whose jobs run one by one, it was slower.

async function send(payload: unknown, isRecorded: boolean): Promise<void> {
  const attempt = await post(payload as Happening); // the payload is the one that the way inserted
  if (isRecorded) await record([attempt]);
  if (!isDelivered(attempt)) throw new Error(`The receiver answered ${attempt.status}.`);
}

const logger = new Logger(() => () => undefined); // it logs each failed job
const worker = { completeJobBatchDelay: 0, failJobBatchDelay: 0, logger };

if (Deno.env.get("WORK") === "bare")
  await run({
    preset: {
      worker: {
        ...worker,
        connectionString: databaseUrl,
        concurrentJobs: 24,
        maxPoolSize: 25,
        localQueue: { size: 500 },
      },
    },
    noHandleSignals: true,
    taskList: { bare: (payload) => send(payload, false) },
  });
else {
  const pgPool = new Pool({ connectionString: databaseUrl, max: 45 });
  for (const event of ["error", "connect"] as const) pgPool.on(event, () => undefined); // it wants a handler of each
  for (let endpoint = 0; endpoint < ENDPOINTS; endpoint++)
    await run({
      pgPool,
      preset: { worker: { ...worker, concurrentJobs: 2, localQueue: { size: 100 } } },
      noHandleSignals: true,
      taskList: { [`endpoint-${endpoint}`]: (payload) => send(payload, true) },
    });
}
