import { resolve } from "node:path";
import { findBinaries } from "./find-binaries.ts";
import { freePort } from "./free-port.ts";
import { initCluster, SUPERUSER } from "./init-cluster.ts";
import { placeBinaries } from "./place-binaries.ts";
import { placeData } from "./place-data.ts";
import { PostgresError } from "./postgres-error.ts";
import { runServer, type Server } from "./run-server.ts";
import { chooseServerUser } from "./server-user.ts";
import { waitForPreviousServer } from "./wait-for-previous-server.ts";

const STOP_PATIENCE_MS = 20_000;
const ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 250;

export type PostgresOptions = {
  /** Where the data are kept; made when missing. */
  dataDir: string;
  /** Left out or 0: a free one. */
  port?: number;
  /** False only for throw-away clusters: nothing is flushed to disk. A killed server loses nothing, the machine's crash all. */
  durable?: boolean;
  /** The server's own messages, a line each. */
  onLog?: (line: string) => void;
};

export type RunningPostgres = {
  /** The superuser's address of the database `postgres`, on 127.0.0.1. It holds the password. */
  url: string;
  port: number;
  /** Where the data really are (see placeData). */
  dataDir: string;
  pid: number;
  /** Settles when the server has ended, for whatever reason. */
  exited: Promise<void>;
  /** Fast shutdown: sessions are cut, data are written, no process is left. May be called twice. */
  stop(): Promise<void>;
  /** For fault tests: sends the signal to the server's main process and returns at once. */
  kill(signal: Deno.Signal): void;
};

/** Starts the embedded Postgres on 127.0.0.1, making its cluster at the first start. Throws PostgresError. */
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
 * Two failures pass by themselves: another process took the free port first, and the children of a server that was
 * killed hold its shared memory for a moment longer.
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
      await new Promise((resolve) => setTimeout(resolve, ATTEMPT_PAUSE_MS));
    }
  }
}

async function stop(server: Server): Promise<void> {
  signal(server, "SIGINT");
  // A fast shutdown waits for a checkpoint; SIGQUIT leaves that to the next start's recovery.
  const impatience = setTimeout(() => signal(server, "SIGQUIT"), STOP_PATIENCE_MS);
  await server.exited;
  clearTimeout(impatience);
}

function signal(server: Server, name: Deno.Signal): void {
  try {
    server.process.kill(name);
  } catch (error) {
    // It has ended already.
    if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
  }
}
