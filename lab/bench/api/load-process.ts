import { answerJobs } from "../job-process.ts";
import type { LoadJob, LoadResult } from "./load.ts";

// Clients in a process of their own. Reads a job from each line, answers a result. Ends with its standard input.

/** Runs clients that each send the next request after the last answer. Throws at an unexpected answer. */
async function runLoad({ requests, clients, count, status, warmUp }: LoadJob): Promise<LoadResult> {
  const all = async (total: number): Promise<number[]> => {
    const latencies: number[] = [];
    let left = total;
    const client = async (at: number) => {
      while (left-- > 0) latencies.push(await send(at % requests.length));
    };
    await Promise.all(Array.from({ length: clients }, (_, at) => client(at)));
    return latencies;
  };
  const send = async (at: number): Promise<number> => {
    const request = requests[at];
    if (!request) throw new Error("There is no request to send.");
    const { url, method, headers, body, contains } = request;
    const began = performance.now();
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    const took = performance.now() - began;
    if (response.status !== status || (contains !== undefined && !text.includes(contains)))
      throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 300)}`);
    return took;
  };

  await all(warmUp);
  const began = performance.now();
  const latencies = await all(count);
  return { latencies, seconds: (performance.now() - began) / 1000 };
}

await answerJobs(runLoad);
