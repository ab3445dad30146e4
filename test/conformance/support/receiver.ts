import { until } from "../../support/until.ts";

type Received = {
  at: number;
  method: string;
  path: string;
  headers: Headers;
  body: Uint8Array<ArrayBuffer>;
};

export type Receiver = ReturnType<typeof startReceiver>;

export function startReceiver(answer?: (path: string) => Promise<Response>) {
  const requests: Received[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, async (request) => {
    const path = new URL(request.url).pathname + new URL(request.url).search;
    const at = performance.now();
    const received = { at, method: request.method, path, headers: request.headers, body: await request.bytes() };
    requests.push(received);
    return (await answer?.(path)) ?? new Response(null, { status: 204 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    /** The first request for this path, once it is there. */
    of: (path: string) => until(`a request for ${path}`, () => requests.find((request) => request.path === path)),
    countOf: (path: string) => requests.filter((request) => request.path === path).length,
    stop: () => server.shutdown(),
  };
}
