import { readLines, spawnWithParent } from "../spawn-with-parent.ts";
import { type Binaries, brokenInstall, programOf } from "./find-binaries.ts";
import { broken, notOurs, plainEnvironment } from "./init-cluster.ts";
import { PostgresError } from "./postgres-error.ts";
import type { ServerUser } from "./server-user.ts";

export type Server = { process: Deno.ChildProcess; exited: Promise<void> };

/** Starts the server and returns when it accepts connections. Throws a PostgresError when it ends instead. */
export async function runServer(options: {
  binaries: Binaries;
  dataDir: string;
  port: number;
  user: ServerUser;
  durable: boolean;
  settings: Record<string, string>;
  onLog: (line: string) => void;
}): Promise<Server> {
  const { binaries, dataDir, port, user, onLog } = options;
  const how = { ...user, ...plainEnvironment, cwd: "/", stdout: "null", stderr: "piped" } as const;
  const args = ["-D", dataDir, ...serverSettings(port, options.durable, options.settings)];
  // INT is a fast shutdown.
  const process = spawnWithParent(programOf(binaries, "postgres"), { ...how, args }, "INT");
  const output: string[] = [];
  const ready = Promise.withResolvers<boolean>();
  const reading = readLines(process.stderr, (line) => {
    onLog(line);
    if (output.length < 100) output.push(line);
    if (line.includes("database system is ready to accept connections")) ready.resolve(true);
  });
  const exited = Promise.all([process.status, reading]).then(() => {
    ready.resolve(false);
  });
  if (await ready.promise) return { process, exited };
  await exited;
  throw explain(output, { ...options, root: binaries.root });
}

function explain(output: string[], at: { dataDir: string; port: number; root: string }): PostgresError {
  const all = output.join("\n");
  const reason = output.findLast((line) => /^(FATAL|PANIC|ERROR):/.test(line)) ?? output.at(-1) ?? "no message";
  if (all.includes("Address already in use")) {
    return new PostgresError("port_busy", `Port ${at.port} on 127.0.0.1 is taken: free it or choose another port.`);
  }
  if (/lock file .* already exists|shared memory block .* still in use/.test(all)) {
    return new PostgresError("data_in_use", `A database already runs on ${at.dataDir}: stop it first.`);
  }
  if (/wrong ownership|Permission denied/.test(all)) return notOurs(at.dataDir);
  if (/shared librar|Library not loaded/.test(all)) return brokenInstall(at.root);
  if (/No space left on device|could not (map|resize|create) .*shared memory/.test(all)) {
    return new PostgresError("start_failed", `The database cannot start: ${reason}`);
  }
  return broken(at.dataDir, reason);
}

/** The settings are given on the command line at each start, so that a newer Keyframe's settings apply to older data. */
function serverSettings(port: number, durable: boolean, others: Record<string, string>): string[] {
  const settings: Record<string, string> = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    // A socket's path is limited in length, which a deep checkout exceeds.
    unix_socket_directories: "",
    max_connections: "200",
    shared_buffers: "64MB",
    // This is enough for crash recovery, because there are no replicas.
    wal_level: "minimal",
    max_wal_senders: "0",
    // Compiling takes longer than it saves on queries of a millisecond.
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    // The server's messages show when it is ready.
    lc_messages: "C",
    log_line_prefix: "",
    // synchronous_commit stays on: without fsync it is cheap, and a killed server loses no commit.
    ...(durable ? {} : { fsync: "off", full_page_writes: "off" }),
    ...others,
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
