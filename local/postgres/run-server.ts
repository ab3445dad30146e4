import { type Binaries, brokenInstall } from "./find-binaries.ts";
import { broken, notOurs, plainEnvironment } from "./init-cluster.ts";
import { PostgresError } from "./postgres-error.ts";
import { serverSettings } from "./server-settings.ts";
import type { ServerUser } from "./server-user.ts";

export type Server = { process: Deno.ChildProcess; exited: Promise<void> };

/** Starts the server once and returns when it accepts connections. Throws a PostgresError when it ends instead. */
export async function runServer(options: {
  binaries: Binaries;
  dataDir: string;
  port: number;
  user: ServerUser;
  durable: boolean;
  onLog: (line: string) => void;
}): Promise<Server> {
  const { binaries, dataDir, port, user, onLog } = options;
  // Detached: Ctrl-C in a terminal reaches the whole process group, and the database must end last.
  const process = new Deno.Command(binaries.postgres, {
    args: ["-D", dataDir, ...serverSettings(port, options.durable)],
    ...user,
    ...plainEnvironment(),
    cwd: "/",
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const watchdog = startWatchdog(process.pid, user);
  const said: string[] = [];
  const ready = Promise.withResolvers<boolean>();
  const reading = eachLine(process.stderr, (line) => {
    onLog(line);
    if (said.length < 100) said.push(line);
    if (line.includes("database system is ready to accept connections")) ready.resolve(true);
  });
  const exited = Promise.all([process.status, reading]).then(() => {
    watchdog.kill("SIGKILL");
    ready.resolve(false);
    return watchdog.status.then(() => undefined);
  });
  if (await ready.promise) return { process, exited };
  await exited;
  throw explain(said, { ...options, root: binaries.root });
}

/** Ends the database (fast shutdown) when this process is gone, however it went: its end of the pipe closes. */
function startWatchdog(pid: number, user: ServerUser): Deno.ChildProcess {
  return new Deno.Command("/bin/sh", {
    args: ["-c", 'while read -r _; do :; done; kill -INT "$0"', String(pid)],
    ...user,
    cwd: "/",
    detached: true,
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

async function eachLine(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onLine: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(onLine);
  }
  if (rest !== "") onLine(rest);
}

function explain(said: string[], at: { dataDir: string; port: number; root: string }): PostgresError {
  const all = said.join("\n");
  const reason = said.findLast((line) => /^(FATAL|PANIC|ERROR):/.test(line)) ?? said.at(-1) ?? "it said nothing";
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
