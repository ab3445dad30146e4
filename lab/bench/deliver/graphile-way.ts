import { recordHappenings } from "./record-happenings.ts";
import type { Scene } from "./scene.ts";
import { startProcess } from "./start-process.ts";
import { type Way, wallClock } from "./way.ts";

/** Jobs of Graphile Worker, added in the transaction; a worker of its own signs and posts. */
export async function graphileWay({ databaseUrl, sql }: Scene): Promise<Way> {
  const module = new URL("peers/graphile-worker-process.ts", import.meta.url);
  const worker = await startProcess(module, { DATABASE_URL: databaseUrl });
  return {
    name: "graphile-worker + fetch",
    commit: async (events, endpoints) => {
      let sent = 0;
      await sql.begin(async (sql) => {
        const happenings = await recordHappenings(sql, events, endpoints);
        const specs = happenings.map((payload) => ({ identifier: "send", payload }));
        await sql`
          select count(*) from graphile_worker.add_jobs(array(
            select s from json_populate_recordset(null::graphile_worker.job_spec, ${JSON.stringify(specs)}::text::json) s))`;
        sent = wallClock();
      });
      return sent;
    },
    // A job that has succeeded is gone.
    isOpen: async () => (await sql`select from graphile_worker._private_jobs limit 1`).length > 0,
    close: async () => {
      await worker.close();
      await sql`drop schema graphile_worker cascade`;
    },
  };
}
