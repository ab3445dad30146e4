import { quantile } from "./measure.ts";

export type LoadRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** The expected status, and text of the expected answer. Any other throws. */
  status: number;
  contains?: string;
};

type LoadJob = {
  /** Sent in order, again and again. Each client sends the next one after its last answer. */
  requests: LoadRequest[];
  clients: number;
  /** Requests of all clients together. */
  count: number;
};

/** Times in ms; `took`: from the first request to the last answer. */
type LoadResult = { p50: number; took: number };

export async function runLoad({ requests, clients, count }: LoadJob): Promise<LoadResult> {
  const latencies: number[] = [];
  let sent = 0;
  const client = async () => {
    while (sent < count) latencies.push(await send(requests[sent++ % requests.length]));
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const took = performance.now() - began;
  return { p50: quantile(latencies, 0.5), took };
}

async function send(request: LoadRequest | undefined): Promise<number> {
  if (!request) throw new Error("There is no request to send.");
  const { url, method, headers, body = null, status, contains = "" } = request;
  const began = performance.now();
  const response = await fetch(url, { method, headers, body });
  const text = await response.text();
  const took = performance.now() - began;
  if (response.status !== status || !text.includes(contains))
    throw new Error(`${method} ${url} answered ${response.status}: ${text.slice(0, 300)}`);
  return took;
}
