import { quantile } from "./measure.ts";
import { answerJobs, startJobProcess } from "./processes.ts";

export type LoadRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** The expected status, and text of the expected answer. Any other ends the run. */
  status: number;
  contains?: string;
};

type LoadJob = {
  /** Sent in order, again and again. Each client sends the next one after its last answer. */
  requests: LoadRequest[];
  clients: number;
  /** Requests of all clients together, after `warmUp` uncounted ones. */
  count: number;
  warmUp: number;
};

/** ms of each request, and of all together. */
type LoadResult = { latencies: number[]; took: number };

/** Clients in a process of their own. */
export type Load = {
  run(job: LoadJob): Promise<{ p50: number; perSecond: number; took: number }>;
  close(): Promise<void>;
};

export function startLoad(): Load {
  const clients = startJobProcess(new URL(import.meta.url));
  return {
    async run(job) {
      const { latencies, took } = await clients.run<LoadResult>(job);
      return { p50: quantile(latencies, 0.5), perSecond: (job.count / took) * 1000, took };
    },
    close: clients.close,
  };
}

async function runLoad({ requests, clients, count, warmUp }: LoadJob): Promise<LoadResult> {
  const all = async (total: number): Promise<number[]> => {
    const latencies: number[] = [];
    let sent = 0;
    const client = async () => {
      while (sent < total) latencies.push(await send(requests[sent++ % requests.length]));
    };
    await Promise.all(Array.from({ length: clients }, client));
    return latencies;
  };
  await all(warmUp);
  const began = performance.now();
  const latencies = await all(count);
  return { latencies, took: performance.now() - began };
}

async function send(request: LoadRequest | undefined): Promise<number> {
  if (!request) throw new Error("There is no request to send.");
  const { url, method, headers, body, status, contains } = request;
  const began = performance.now();
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  const took = performance.now() - began;
  if (response.status !== status || (contains !== undefined && !text.includes(contains)))
    throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 300)}`);
  return took;
}

if (import.meta.main) await answerJobs(runLoad);
