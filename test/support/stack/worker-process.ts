import { afterEach } from "vitest";
import { freePort } from "../../../local/network.ts";
import { readLines, spawnWithParent } from "../../../local/spawn-with-parent.ts";
import { writeClock } from "../../../lab/chaos/second-process.ts";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { until } from "../until.ts";
import type { OwnStack } from "./own-stack.ts";

/** `npm run worker` without npm, beside the functions of a stack. */
export type WorkerProcess = {
  /** What it has printed. */
  lines: readonly string[];
  /** Of its health. */
  port: number;
  health(): Promise<{ status: number; body: unknown }>;
  kill(signal: Deno.Signal): void;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>;
};

/** Settings of a process that differ from those of its stack. `aheadMs`: by how much its clock is ahead. */
type Change = { databaseUrl?: string | undefined; url?: string; secretKey?: string; aheadMs?: number };

/** Ends the processes that are given to it after each test. */
export function endAfterEach(): (process: WorkerProcess) => WorkerProcess {
  const processes: WorkerProcess[] = [];
  afterEach(async () => {
    for (const process of processes.splice(0)) {
      process.kill("SIGKILL");
      await process.ended;
    }
  });
  return (process) => {
    processes.push(process);
    return process;
  };
}

/** Lets the two functions that a worker process replaces stand still (SIGSTOP), or go on (SIGCONT). */
export function signalFunctions(stack: OwnStack, signal: "SIGSTOP" | "SIGCONT"): void {
  for (const name of ["keyframe-generate", "keyframe-deliver"]) stack.child(name).kill(signal);
}

/** Starts both workers in one process, which claim within moments. With a connection string, by that instead of the Data API. */
export async function startWorkerProcess(stack: OwnStack, change: Change = {}): Promise<WorkerProcess> {
  const process = await spawnWorkerProcess(stack, change);
  await until("the process is healthy", () =>
    process.health().then(
      ({ status }) => status === 200,
      () => false,
    ),
  ).catch((error) => {
    process.kill("SIGKILL");
    throw new Error(`${error.message}\n${process.lines.join("\n")}`);
  });
  return process;
}

/** The same, which may refuse to start, or wait. */
export async function spawnWorkerProcess(stack: OwnStack, change: Change = {}): Promise<WorkerProcess> {
  const { url, secretKey, databaseUrl, aheadMs = 0 } = { url: stack.url, secretKey: stack.secretKey, ...change };
  const clock = aheadMs === 0 ? [] : [`--preload=${await writeClock(stack.dataDir, { aheadMs })}`];
  const port = freePort();
  const lines: string[] = [];
  const process = spawnWithParent(Deno.execPath(), {
    args: [
      ...["run", "--no-prompt", ...clock, "--allow-net", "--allow-env"],
      ...["worker/main.ts", "--listen", String(port)],
    ],
    cwd: PROJECT_ROOT,
    clearEnv: true,
    env: {
      SUPABASE_URL: url,
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: secretKey }),
      KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1",
      KEYFRAME_REPLICATE_API_TOKEN: stack.replicateToken,
      KEYFRAME_REPLICATE_API_BASE_URL: `${stack.simulatorUrl}/v1`,
      KEYFRAME_REPLICATE_OUTPUT_HOSTS: stack.simulatorUrl,
      KEYFRAME_PUBLIC_URL: url,
      ...(databaseUrl === undefined ? {} : { SUPABASE_DB_URL: databaseUrl }),
      NO_COLOR: "1",
      DENO_NO_UPDATE_CHECK: "1",
    },
    stdout: "piped",
    stderr: "piped",
  });
  const printed = [process.stdout, process.stderr].map((stream) => readLines(stream, (line) => void lines.push(line)));
  const ended = process.status.then(async ({ code, signal }) => {
    await Promise.all(printed);
    return signal ?? code;
  });
  const health = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    return { status: response.status, body: await response.json() };
  };
  const kill = (signal: Deno.Signal) => {
    try {
      process.kill(signal);
    } catch {
      // It has ended already.
    }
  };
  return { lines, port, health, kill, ended };
}
