import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const TIMEOUT_MS = 120_000;

/** A process that reads a job from each line of its standard input and answers it with a line of JSON. */
export type JobProcess = { run(job: unknown): Promise<unknown>; close(): Promise<void> };

/** Starts one, so that its work is not done by the process that measures. `run` throws what the job threw. */
export function startJobProcess(module: URL, permission: string, env: Record<string, string> = {}): JobProcess {
  const file = fileURLToPath(module);
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", permission, file],
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  });
  const child = command.spawn();
  const writer = child.stdin.getWriter();
  const lines = createInterface({ input: Readable.from(child.stdout) });
  const answers = lines[Symbol.asyncIterator]();
  return {
    async run(job) {
      await writer.write(new TextEncoder().encode(`${JSON.stringify(job)}\n`));
      const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
      const { value } = await answers.next().finally(() => clearTimeout(timer));
      if (value === undefined) throw new Error(`${file} ended, or took more than ${TIMEOUT_MS / 1000} s.`);
      const { error, answer }: { error?: string; answer?: unknown } = JSON.parse(value);
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

/** The main loop of such a process. */
export async function answerJobs<Job>(work: (job: Job) => Promise<unknown>): Promise<void> {
  for await (const line of createInterface({ input: Readable.from(Deno.stdin.readable) })) {
    const said = await work(JSON.parse(line)).then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
    );
    console.log(JSON.stringify(said));
  }
}
