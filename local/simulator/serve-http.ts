import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { arrayBuffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

/** The connection of a request. */
export type Connection = {
  /** Closes the connection at once, without a response. */
  drop: () => void;
  /** Resolves when the client has disconnected or the response is sent. */
  closed: Promise<void>;
};

type Handler = (request: Request, connection: Connection) => Promise<Response>;
type HttpServer = { port: number; stop: () => Promise<void> };

/**
 * Serves `handler` on 127.0.0.1. It uses `node:http`, because `Deno.serve` cannot close a connection without a response, which
 * a fault needs.
 */
export async function serveHttp(handler: Handler, port: number): Promise<HttpServer> {
  const server = createServer((incoming, outgoing) => {
    void answer(handler, incoming, outgoing).catch(() => outgoing.destroy());
  });
  // Cloudflare, which is in front of the provider, does the same. After Node's 5 s a client would send on connections that are closing.
  server.keepAliveTimeout = 400_000;
  // Otherwise a connection without a request gets a 408 after a minute. `fetch` opens some in advance, and would read it as the answer.
  server.headersTimeout = 0;
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve());
  });
  // The address of a listening TCP server is never a path or null.
  const address = server.address() as AddressInfo;
  return {
    port: address.port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(handler: Handler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  outgoing.once("close", () => resolve());
  const request = toRequest(incoming, await arrayBuffer(incoming));
  const response = await handler(request, { drop: () => incoming.socket.destroy(), closed });
  if (outgoing.destroyed || incoming.socket.destroyed) {
    await response.body?.cancel();
    return;
  }
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  // Otherwise the headers wait for the first chunk of the body, which a slow response sends late.
  outgoing.flushHeaders();
  if (response.body === null) outgoing.end();
  else await pipeline(response.body, outgoing); // ends the response when the client disconnects
}

function toRequest(incoming: IncomingMessage, body: ArrayBuffer): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  const method = incoming.method ?? "GET";
  const bodiless = method === "GET" || method === "HEAD";
  const url = `http://${incoming.headers.host ?? "127.0.0.1"}${incoming.url ?? "/"}`;
  return new Request(url, { method, headers, ...(bodiless ? {} : { body }) });
}
