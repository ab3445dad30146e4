import { startJobProcess } from "../job-process.ts";
import { z } from "zod";
import { quantile } from "../measure.ts";

export type LoadRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** Text that the right answer contains. */
  contains?: string;
};

export type LoadJob = {
  /** Client n sends the n-th request repeatedly. */
  requests: LoadRequest[];
  clients: number;
  /** Requests of all clients together, after `warmUp` uncounted ones. */
  count: number;
  warmUp: number;
  /** The expected status; any other ends the run. */
  status: number;
};

/** ms of each request, and seconds of all together. */
export type LoadResult = { latencies: number[]; seconds: number };

/** Clients in a process of their own. */
export type Load = {
  run(job: LoadJob): Promise<{ p50: number; perSecond: number }>;
  close(): Promise<void>;
};

const result = z.object({ latencies: z.array(z.number()), seconds: z.number() });

export function startLoad(): Load {
  const clients = startJobProcess(new URL("load-process.ts", import.meta.url), "--allow-net=127.0.0.1");
  return {
    async run(job) {
      const { latencies, seconds } = result.parse(await clients.run(job));
      if (latencies.length !== job.count) throw new Error(`${latencies.length} of ${job.count} requests.`);
      return { p50: quantile(latencies, 0.5), perSecond: job.count / seconds };
    },
    close: clients.close,
  };
}
