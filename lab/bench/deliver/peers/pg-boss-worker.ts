import { PgBoss } from "pg-boss";
import { answerJobs } from "../../processes.ts";
import { type Job, openPostEvent, PG_BOSS_QUEUE } from "./post-event.ts";

// pg-boss with its documented settings for speed: batches, the next batch at once while batches are full, NOTIFY
// instead of a poll, several workers, and one statement for the outcomes of a batch.
const databaseUrl = Deno.env.get("DATABASE_URL") ?? "";
const boss = new PgBoss({ connectionString: databaseUrl, useListenNotify: true });
boss.on("error", (error: unknown) => console.error("pg-boss:", error));
await boss.start();
await boss.createQueue(PG_BOSS_QUEUE, { notify: true });
const postEvent = await openPostEvent(databaseUrl);
await boss.work<Job>(
  PG_BOSS_QUEUE,
  { localConcurrency: 4, batchSize: 100, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5, perJobResults: true },
  (jobs) =>
    Promise.all(
      jobs.map(async ({ id, data }) => {
        try {
          await postEvent(data);
          return { id, status: "completed" as const };
        } catch (error) {
          return { id, status: "failed" as const, output: { reason: String(error) } };
        }
      }),
    ),
);
await answerJobs(() => "ready");
