import { recordHappenings } from "./record-happenings.ts";
import type { Scene } from "./scene.ts";
import { startProcess } from "./start-process.ts";
import { type Way, wallClock } from "./way.ts";

/** The channel that peers/notify-listener.ts listens on. */
export const CHANNEL = "bench_happenings";

/** NOTIFY with the event in the transaction; a listener of its own signs and posts, and records nothing. */
export async function notifyWay({ databaseUrl, sql }: Scene): Promise<Way> {
  const module = new URL("peers/notify-listener.ts", import.meta.url);
  const listener = await startProcess(module, { DATABASE_URL: databaseUrl, CHANNEL });
  return {
    name: "LISTEN/NOTIFY + fetch",
    commit: async (events, endpoints) => {
      let sent = 0;
      await sql.begin(async (sql) => {
        for (const happening of await recordHappenings(sql, events, endpoints))
          await sql`select pg_notify(${CHANNEL}, ${JSON.stringify(happening)})`;
        sent = wallClock();
      });
      return sent;
    },
    isOpen: async () => false,
    close: listener.close,
  };
}
