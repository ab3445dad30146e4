import { fileURLToPath } from "node:url";
import { readLines, spawnWithParent } from "../../../local/spawn-with-parent.ts";

export type Scheduler = {
  pid: number;
  lines: string[];
  stop(signal?: Deno.Signal): Promise<Deno.CommandStatus>;
};

const main = fileURLToPath(new URL("../../../local/extensions/main.ts", import.meta.url));

export async function startScheduler(databaseUrl: string, worker: "pg_net" | "pg_cron"): Promise<Scheduler> {
  const process = spawnWithParent(Deno.execPath(), {
    args: ["run", "-A", main],
    env: {
      DATABASE_URL: databaseUrl,
      RUN_PG_NET: worker === "pg_net" ? "1" : "0",
      RUN_PG_CRON: worker === "pg_cron" ? "1" : "0",
    },
    stdout: "piped",
  });
  const lines: string[] = [];
  const ready = Promise.withResolvers<void>();
  void readLines(process.stdout, (line) => {
    lines.push(line);
    if (line.startsWith('{"ready":true')) ready.resolve();
  }).then(() => ready.reject(new Error(`the scheduler ended: ${lines.join("\n")}`)));
  await ready.promise;
  return {
    pid: process.pid,
    lines,
    stop: (signal = "SIGTERM") => {
      process.kill(signal);
      return process.status;
    },
  };
}
