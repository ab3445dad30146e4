import { type Job, type JobResult, PgBoss } from "pg-boss";
import { ENDPOINTS, type Happening, databaseUrl, isDelivered, post, record } from "./post-event.ts";

// pg-boss, woken by NOTIFY, with batches whose jobs end one by one. It retries with its exponential backoff. On less work, one queue
// without records, it was no faster.

const QUEUE = { notify: true, retryLimit: 9, retryDelay: 2, retryBackoff: true };
const WORK = { batchSize: 50, perJobResults: true, burstWhenBatchFull: true, notifyPollingIntervalSeconds: 2 } as const;

const boss = new PgBoss({ connectionString: databaseUrl, max: 25, useListenNotify: true });
boss.on("error", (error) => console.error(`pg-boss: ${error.message}`));
await boss.start();

for (let endpoint = 0; endpoint < ENDPOINTS; endpoint++) {
  await boss.createQueue(`endpoint-${endpoint}`, QUEUE);
  await boss.work(`endpoint-${endpoint}`, WORK, async (jobs: Job<Happening>[]): Promise<JobResult[]> => {
    const attempts = await Promise.all(jobs.map(({ data }) => post(data)));
    await record(attempts);
    return jobs.map(({ id }, at) => {
      const attempt = attempts[at];
      return { id, status: attempt && isDelivered(attempt) ? "completed" : "failed" };
    });
  });
}
