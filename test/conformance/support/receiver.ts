import { until } from "../../support/until.ts";

type Received = {
  at: number;
  method: string;
  path: string;
  headers: Headers;
  body: Uint8Array<ArrayBuffer>;
};

export type Receiver = {
  url: string;
  requests: Received[];
  /** The first request for this path, once it is there. */
  of(path: string): Promise<Received>;
  countOf(path: string): number;
  stop(): Promise<void>;
};

export function startReceiver(answer?: (path: string, request: Received) => Response | Promise<Response>): Receiver {
  const requests: Received[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    const path = new URL(request.url).pathname + new URL(request.url).search;
    const at = performance.now();
    const received = { at, method: request.method, path, headers: request.headers, body: await request.bytes() };
    requests.push(received);
    return (await answer?.(path, received)) ?? new Response(null, { status: 204 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    of: (path) => until(`a request for ${path}`, () => requests.find((request) => request.path === path)),
    countOf: (path) => requests.filter((request) => request.path === path).length,
    stop: () => server.shutdown(),
  };
}
