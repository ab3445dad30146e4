import { PgBoss } from "pg-boss";
import { PG_BOSS_QUEUE } from "./peers/pg-boss-queue.ts";
import type { Job } from "./peers/post-event.ts";
import { recordHappenings } from "./record-happenings.ts";
import type { Scene } from "./scene.ts";
import { startProcess } from "./start-process.ts";
import { type Way, wallClock } from "./way.ts";

const INSERT_AT_ONCE = 1_000;

/** Jobs of pg-boss, inserted in the transaction; a worker of its own signs and posts. */
export async function pgBossWay({ databaseUrl, sql }: Scene): Promise<Way> {
  const worker = await startProcess(new URL("peers/pg-boss-worker.ts", import.meta.url), { DATABASE_URL: databaseUrl });
  const boss = new PgBoss({ connectionString: databaseUrl, supervise: false, schedule: false, max: 1 });
  boss.on("error", (error: unknown) => console.error("pg-boss:", error));
  await boss.start();
  return {
    name: "pg-boss + fetch",
    commit: async (events, endpoints) => {
      let sent = 0;
      await sql.begin(async (sql) => {
        const happenings: Job[] = await recordHappenings(sql, events, endpoints);
        const db = {
          // Its values are text, numbers and null, which is what unsafe takes.
          executeSql: async (text: string, values: unknown[] = []) => ({
            rows: [...(await sql.unsafe(text, values as string[]))],
          }),
        };
        for (let from = 0; from < happenings.length; from += INSERT_AT_ONCE) {
          const jobs = happenings.slice(from, from + INSERT_AT_ONCE).map((data) => ({ data }));
          await boss.insert(PG_BOSS_QUEUE, jobs, { db });
        }
        sent = wallClock();
      });
      return sent;
    },
    isOpen: async () => {
      const found =
        await sql`select from pgboss.job j where j.name = ${PG_BOSS_QUEUE} and j.state < 'completed' limit 1`;
      return found.length > 0;
    },
    close: async () => {
      await boss.stop({ graceful: false });
      await worker.close();
      await sql`drop schema pgboss cascade`;
    },
  };
}
