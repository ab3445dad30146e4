import { Logger, run } from "graphile-worker";
import { untilStdinEnds } from "../start-process.ts";
import { type Job, openPostEvent } from "./post-event.ts";

/**
 * Graphile Worker with the settings of its documentation on performance: a local queue of 500 jobs, completions in
 * batches, 24 jobs at once and one connection more.
 */
const databaseUrl = Deno.env.get("DATABASE_URL") ?? "";
const postEvent = await openPostEvent(databaseUrl);
const runner = await run({
  preset: {
    worker: {
      connectionString: databaseUrl,
      concurrentJobs: 24,
      maxPoolSize: 25,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      // Standard output is only for the line that says it is ready.
      logger: new Logger(() => (level, message) => {
        // Hanging endpoints make tasks fail as expected.
        if (level === "error" && !message.startsWith("Failed task")) console.error(`graphile-worker: ${message}`);
      }),
    },
  },
  noHandleSignals: true,
  // The payload is the one that the way inserted.
  taskList: { send: (payload: unknown) => postEvent(payload as Job) },
});
runner.promise.catch((error) => console.error("graphile-worker:", error));
console.log(JSON.stringify({ ready: true, port: 0 }));
await untilStdinEnds();
Deno.exit(0);
