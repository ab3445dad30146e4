import { Logger, run } from "graphile-worker";
import { answerJobs } from "../../processes.ts";
import { type Job, openPostEvent } from "./post-event.ts";

// Graphile Worker with the settings of its documentation on performance: a local queue of 500 jobs, completions in
// batches, 24 jobs at once and one connection more.
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
      // Standard output is only for answers. Hanging endpoints make tasks fail as expected.
      logger: new Logger(() => (level, message) => {
        if (level === "error" && !message.startsWith("Failed task")) console.error(`graphile-worker: ${message}`);
      }),
    },
  },
  noHandleSignals: true,
  // The payload is the one that the way inserted.
  taskList: { send: (payload: unknown) => postEvent(payload as Job) },
});
runner.promise.catch((error) => console.error("graphile-worker:", error));
await answerJobs(() => "ready");
