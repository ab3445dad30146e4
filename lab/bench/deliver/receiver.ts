import { answerJobs, startJobProcess } from "../processes.ts";

export type Receiver = {
  /** The URL of an endpoint. */
  url(endpoint: number): string;
  /** Clears the records. From now on these endpoints never answer. */
  begin(hanging: number[]): Promise<void>;
  /** Resolves when so many different events have come to endpoints that answer; throws when they do not in time. */
  waitFor(events: number, timeoutMs: number): Promise<void>;
  /** Answers what hangs, and from now on everything. */
  release(): Promise<void>;
  report(): Promise<Report>;
  close(): Promise<void>;
};

/** What arrived at the endpoints that answer. */
export type Report = {
  /** Each event's id and when it first came, in ms since 1970, in order. */
  arrivals: [id: string, at: number][];
  /** More than the number of events when some came twice. */
  requests: number;
  bytes: number;
  samples: { endpoint: number; headers: [string, string][]; body: string }[];
  /** Events at endpoints that hang. */
  hung: number;
};

type Job =
  | { port: true }
  | { begin: number[] }
  | { release: true }
  | { report: true }
  | { waitFor: number; ms: number };

/** A receiver in its own process, so that its work does not count as the sender's. */
export async function openReceiver(): Promise<Receiver> {
  const { run, close } = startJobProcess(new URL(import.meta.url));
  const ask = <Answer = void>(job: Job) => run<Answer>(job);
  const port = await ask<number>({ port: true });
  return {
    url: (endpoint) => `http://127.0.0.1:${port}/e/${endpoint}`,
    begin: (hanging) => ask({ begin: hanging }),
    release: () => ask({ release: true }),
    waitFor: async (events, timeoutMs) => {
      const arrived = await ask<number>({ waitFor: events, ms: timeoutMs });
      if (arrived < events) throw new Error(`${arrived} of ${events} events had come after ${timeoutMs} ms.`);
    },
    report: () => ask({ report: true }),
    close,
  };
}

/** One request in so many is kept, to check its signature after the measurement. */
const SAMPLE_EVERY = 97;

async function serve(): Promise<void> {
  const hanging = new Set<string>();
  const held: (() => void)[] = [];
  let seen = new Map<string, number>();
  let hungIds = new Set<string>();
  let [requests, bytes] = [0, 0];
  let samples: Report["samples"] = [];
  let waiting: { events: number; done(): void } | null = null;
  const decoder = new TextDecoder();

  const receive = async (request: Request, endpoint: string): Promise<Response> => {
    const body = await request.arrayBuffer();
    const at = performance.timeOrigin + performance.now();
    const id = request.headers.get("webhook-id") ?? "";
    if (hanging.has(endpoint)) {
      hungIds.add(id);
      await new Promise<void>((resolve) => held.push(resolve));
      return new Response(null, { status: 204 });
    }
    if (requests++ % SAMPLE_EVERY === 0)
      samples.push({ endpoint: Number(endpoint), headers: [...request.headers], body: decoder.decode(body) });
    bytes += body.byteLength;
    if (!seen.has(id)) seen.set(id, at);
    if (waiting !== null && seen.size >= waiting.events) waiting.done();
    return new Response(null, { status: 204 });
  };
  const release = () => {
    hanging.clear();
    for (const answer of held.splice(0)) answer();
  };
  const begin = (endpoints: number[]) => {
    release();
    for (const endpoint of endpoints) hanging.add(String(endpoint));
    [seen, hungIds, requests, bytes, samples] = [new Map(), new Set(), 0, 0, []];
  };
  const waitFor = async (events: number, ms: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    waiting = { events, done: resolve };
    if (seen.size < events) await promise;
    clearTimeout(timer);
    waiting = null;
    return seen.size;
  };

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, (request) =>
    receive(request, request.url.slice(request.url.indexOf("/e/", 8) + 3)),
  );
  await answerJobs((job: Job) => {
    if ("port" in job) return server.addr.port;
    if ("begin" in job) return begin(job.begin);
    if ("release" in job) return release();
    if ("waitFor" in job) return waitFor(job.waitFor, job.ms);
    return { arrivals: [...seen], requests, bytes, samples, hung: hungIds.size } satisfies Report;
  });
}

if (import.meta.main) await serve();
