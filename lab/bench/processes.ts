import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { spawnWithParent } from "../../local/spawn-with-parent.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

const TIMEOUT_MS = 180_000;

/** A process that answers each job, a line of JSON on its standard input, with a line of JSON. */
export type JobProcess = {
  pid: number;
  /** Throws what the job threw. */
  run<Answer = unknown>(job: unknown): Promise<Answer>;
  close(): Promise<void>;
};

/** Starts a module that calls `answerJobs`, so that its work is not done by the process that measures. */
export function startJobProcess(module: URL, env: Record<string, string> = {}): JobProcess {
  const file = fileURLToPath(module);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", file],
    cwd: PROJECT_ROOT,
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  const lines = createInterface({ input: Readable.from(child.stdout) });
  const answers = lines[Symbol.asyncIterator]();
  return {
    pid: child.pid,
    async run(job) {
      await writer.write(new TextEncoder().encode(`${JSON.stringify(job)}\n`));
      const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
      const { value } = await answers.next().finally(() => clearTimeout(timer));
      if (value === undefined) throw new Error(`${file} ended, or took more than ${TIMEOUT_MS / 1000} s.`);
      const { error, answer } = JSON.parse(value);
      if (error !== undefined) throw new Error(error);
      return answer;
    },
    async close() {
      await writer.close().catch(() => undefined); // it may have ended
      lines.close();
      await child.status;
    },
  };
}

/** The main loop of such a process. It ends with its standard input. */
export async function answerJobs<Job>(work: (job: Job) => unknown): Promise<void> {
  for await (const line of createInterface({ input: Readable.from(Deno.stdin.readable) })) {
    const said = await Promise.resolve(JSON.parse(line))
      .then(work)
      .then(
        (answer) => ({ answer }),
        (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
      );
    console.log(JSON.stringify(said));
  }
  Deno.exit(0);
}

export type FunctionProcess = { pid: number; ended: AbortSignal; close(): Promise<void> };

type FunctionSettings = { port: number; args: string[]; env: Record<string, string> };

/** Starts an edge function on a port of this machine. It ends with this process. */
export function spawnFunction({ port, args, env }: FunctionSettings): FunctionProcess {
  const [command = "", ...rest] = args;
  const child = spawnWithParent(Deno.execPath(), {
    args: [command, "--quiet", ...rest],
    cwd: PROJECT_ROOT,
    clearEnv: true,
    env: { ...env, DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`, DENO_NO_UPDATE_CHECK: "1" },
    stdout: "null",
    stderr: "inherit",
  });
  const ended = new AbortController();
  void child.status.then(() => ended.abort());
  return {
    pid: child.pid,
    ended: ended.signal,
    close: async () => {
      if (!ended.signal.aborted) child.kill("SIGKILL");
      await child.status;
    },
  };
}
