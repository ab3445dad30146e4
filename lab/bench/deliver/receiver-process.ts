import type { Report } from "./receiver.ts";
import { untilStdinEnds } from "./start-process.ts";

/** One request in so many is kept, to check its signature after the measurement. */
const SAMPLE_EVERY = 97;

/**
 * A receiver of webhooks: `/e/<number>` answers 204 at once, unless it hangs, and records when each webhook-id came.
 * `/control/…` is for the benchmark.
 */
const hanging = new Set<string>();
const held: (() => void)[] = [];
let seen = new Map<string, number>();
let hungIds = new Set<string>();
let requests = 0;
let bytes = 0;
let samples: Report["samples"] = [];
let waiting: { events: number; done(): void } | null = null;

const decoder = new TextDecoder();

async function receive(request: Request, endpoint: string): Promise<Response> {
  const body = await request.arrayBuffer();
  const at = performance.timeOrigin + performance.now();
  const id = request.headers.get("webhook-id") ?? "";
  if (hanging.has(endpoint)) {
    hungIds.add(id);
    await new Promise<void>((resolve) => held.push(resolve));
    return new Response(null, { status: 204 });
  }
  if (requests++ % SAMPLE_EVERY === 0) {
    samples.push({ endpoint: Number(endpoint), headers: [...request.headers], body: decoder.decode(body) });
  }
  bytes += body.byteLength;
  if (!seen.has(id)) seen.set(id, at);
  if (waiting !== null && seen.size >= waiting.events) waiting.done();
  return new Response(null, { status: 204 });
}

function begin(endpoints: number[]): void {
  release();
  for (const endpoint of endpoints) hanging.add(String(endpoint));
  seen = new Map();
  hungIds = new Set();
  [requests, bytes, samples] = [0, 0, []];
}

/** Answers what hangs and stops hanging. */
function release(): void {
  hanging.clear();
  for (const answer of held.splice(0)) answer();
}

async function control(request: Request, url: URL): Promise<Response> {
  switch (url.pathname) {
    case "/control/begin":
      begin(await request.json());
      return new Response(null, { status: 204 });
    case "/control/release":
      release();
      return new Response(null, { status: 204 });
    case "/control/wait": {
      const events = Number(url.searchParams.get("events"));
      if (seen.size < events) await new Promise<void>((done) => (waiting = { events, done }));
      waiting = null;
      return new Response(null, { status: 204 });
    }
    case "/control/report":
      return Response.json({
        arrivals: [...seen.values()],
        requests,
        bytes,
        samples,
        hung: hungIds.size,
      } satisfies Report);
    default:
      return new Response(null, { status: 404 });
  }
}

Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(JSON.stringify({ ready: true, port })) },
  (request) => {
    const path = request.url.indexOf("/e/", 8);
    return path > 0 ? receive(request, request.url.slice(path + 3)) : control(request, new URL(request.url));
  },
);
await untilStdinEnds();
Deno.exit(0);
