import { createInterface, type Interface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { quantile } from "../measure/quantile.ts";

export type LoadRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** What stands in the answer when it is the right one. */
  contains?: string;
};

export type LoadJob = {
  /** Client number n sends the n-th, again and again. */
  requests: LoadRequest[];
  clients: number;
  /** Of all clients together; as many again as `warmUp` before, which are not counted. */
  count: number;
  warmUp: number;
  /** Of each answer; any other ends the run. */
  status: number;
};

/** Milliseconds of each request, and seconds of all of them. */
export type LoadResult = { latencies: number[]; seconds: number };

/** Clients that run in a process of their own. */
export type Load = {
  run(job: LoadJob): Promise<{ p50: number; perSecond: number }>;
  close(): Promise<void>;
};

const result = z.union([
  z.object({ latencies: z.array(z.number()), seconds: z.number() }),
  z.object({ error: z.string() }),
]);
const PATIENCE_MS = 120_000;

export function startLoad(): Load {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net=127.0.0.1", fileURLToPath(new URL("load-process.ts", import.meta.url))],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  const lines: Interface = createInterface({ input: Readable.from(child.stdout) });
  const answers = lines[Symbol.asyncIterator]();
  return {
    async run(job) {
      await writer.write(new TextEncoder().encode(`${JSON.stringify(job)}\n`));
      const { value } = await within(PATIENCE_MS, answers.next());
      const answer = result.parse(JSON.parse(value ?? '{"error":"The process of the clients ended."}'));
      if ("error" in answer) throw new Error(answer.error);
      if (answer.latencies.length !== job.count)
        throw new Error(`${answer.latencies.length} of ${job.count} requests.`);
      return { p50: quantile(answer.latencies, 0.5), perSecond: job.count / answer.seconds };
    },
    async close() {
      await writer.close();
      lines.close();
      await child.status;
    },
  };
}

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The clients did not come to an end within ${ms / 1000} s.`)), ms);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
