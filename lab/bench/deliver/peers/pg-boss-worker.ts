import { PgBoss } from "pg-boss";
import { untilStdinEnds } from "../until-stdin-ends.ts";
import { PG_BOSS_QUEUE } from "./pg-boss-queue.ts";
import { type Job, openPostEvent } from "./post-event.ts";

/**
 * pg-boss with what its documentation has for speed: jobs fetched in batches, the next batch at once while batches are full,
 * a wake by NOTIFY instead of a poll, several workers side by side, and one statement for the outcomes of a batch, each job
 * with its own. 4 × 100 requests at once are as many as Keyframe has under way at most.
 */
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
console.log(JSON.stringify({ ready: true, port: 0 }));
await untilStdinEnds();
Deno.exit(0);
