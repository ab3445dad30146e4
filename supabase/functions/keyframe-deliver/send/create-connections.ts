import type { Socket } from "node:net";
// Only the client is imported: the rest, three fifths of undici, is unused (docs/decisions/0017).
import Client from "undici/lib/dispatcher/client.js";
import { ConnectionStream, MAX_HEAD_BYTES } from "./connection-stream.ts";
import { type DialSettings, dial, type Peer } from "./dial.ts";

/** How long an unused connection is kept: less than the five seconds after which many servers close it. */
const IDLE_MS = 4_000;

/** The most unused connections that are kept. Each is a file descriptor, and every delivery can go to another host. */
const MAX_IDLE = 400;

export type ConnectionSettings = DialSettings & { idleMs?: number; maxIdle?: number };

// undici-client.d.ts gives undici's client its types, but `deno check` does not read it.
type Done = (...outcome: [error: null, socket: Socket] | [error: Error, socket: null]) => void;

/** A connection that sends one request at a time. It connects at the first request. */
export type Connection = {
  client: Client;
  /** Call it after a complete response: it keeps the connection for the same origin, or closes it when too many are unused. */
  release(): void;
  /** Closes the connection in any state. */
  destroy(): void;
};

/**
 * The connections of a process. The number of open requests limits the connections in use; maxIdle limits the unused ones. undici's Agent
 * limits neither the unused connections nor the time to connect.
 */
export function createConnections({
  idleMs = IDLE_MS,
  maxIdle = MAX_IDLE,
  ...dialing
}: ConnectionSettings): (origin: string) => Connection {
  const idle: { origin: string; connection: Connection }[] = [];

  /** Removes a connection from the unused ones. */
  function removeIdle(matches: (each: (typeof idle)[number]) => boolean): Connection | undefined {
    const index = idle.findLastIndex(matches);
    return index < 0 ? undefined : idle.splice(index, 1)[0]?.connection;
  }

  function open(origin: string): Connection {
    const ended = new AbortController();
    const client = new Client(origin, {
      connect: (peer: Peer, done: Done) => {
        dial(peer, dialing, ended.signal)
          .then(
            // The type asks for a Socket, but undici uses only a Duplex with ref and unref.
            (opened) => done(null, new ConnectionStream(opened) as unknown as Socket),
            (error) => done(error, null),
          )
          // An error thrown by undici here must not end the process.
          .catch(destroy);
      },
      // undici repeats only requests that it has not written. With one request at a time, none is sent twice.
      pipelining: 1,
      maxHeaderSize: MAX_HEAD_BYTES,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      // post.ts limits the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    function destroy(): void {
      ended.abort();
      void client.destroy();
    }
    const connection: Connection = {
      client,
      destroy,
      release() {
        if (idle.length < maxIdle) idle.push({ origin, connection });
        else destroy();
      },
    };
    // A connection in use may reconnect for a request that it had not begun to send, so only an unused one is destroyed.
    client.on("disconnect", () => removeIdle((each) => each.connection === connection)?.destroy());
    return connection;
  }

  return (origin) => removeIdle((each) => each.origin === origin) ?? open(origin);
}
