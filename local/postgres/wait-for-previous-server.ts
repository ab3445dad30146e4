import { existsSync } from "node:fs";
import { join } from "node:path";
import { PostgresError } from "./postgres-error.ts";

/** For a server to notice that its starter is gone, and for one that says it is stopping to write its data. */
const NOTICE_MS = 1_000;
const STOPPING_MS = 20_000;

/** Postgres's own file format: the eighth line. */
const STATUS_LINE = 7;

/**
 * Looks whether a server still runs on the data. One whose starter was killed is shutting down by itself and is waited
 * for; a live one is `data_in_use`; a pid file whose process is no Postgres on these data (after a crash of the machine
 * the number may be anyone's) is removed, as Postgres itself would refuse to start.
 */
export async function waitForPreviousServer(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, "postmaster.pid");
  const began = Date.now();
  while (existsSync(pidFile)) {
    const lines = (await Deno.readTextFile(pidFile).catch(() => "")).split("\n");
    const pid = Number(lines[0]);
    if (!pid || !(await isServerOf(pid, dataDir))) {
      await Deno.remove(pidFile).catch(() => undefined);
      return;
    }
    const patience = lines[STATUS_LINE]?.trim() === "stopping" ? STOPPING_MS : NOTICE_MS;
    if (Date.now() - began > patience) {
      throw new PostgresError("data_in_use", `A database already runs on ${dataDir} (process ${pid}): stop it first.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function isServerOf(pid: number, dataDir: string): Promise<boolean> {
  const commandLine = existsSync("/proc/self/cmdline")
    ? await Deno.readTextFile(`/proc/${pid}/cmdline`).catch(() => "")
    : await psArguments(pid);
  return commandLine.replaceAll("\0", " ").includes(`-D ${dataDir} `);
}

async function psArguments(pid: number): Promise<string> {
  const { stdout } = await new Deno.Command("ps", { args: ["-p", String(pid), "-o", "args="] }).output();
  return new TextDecoder().decode(stdout);
}
