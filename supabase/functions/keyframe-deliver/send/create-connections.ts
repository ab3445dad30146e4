import type { Socket } from "node:net";
// Of all of undici only this: the rest is three fifths of it, and none of it is used (docs/decisions/0018).
import Client from "undici/lib/dispatcher/client.js";
import { ConnectionStream } from "./connection-stream.ts";
import { type DialSettings, dial } from "./dial.ts";

/** How long an unused connection is kept: less than the five seconds after which many servers close theirs. */
const IDLE_MS = 4_000;

/** Unused connections kept in all. Each is a file descriptor, and every delivery may be to another host. */
const MOST_IDLE = 400;

/** The most of an answer's head. */
const MOST_HEAD_BYTES = 16 * 1024;

export type ConnectionSettings = DialSettings & { idleMs?: number; mostIdle?: number };

/** A connection of one request at a time. It dials at its first. */
export type Connection = {
  client: Client;
  /** After a complete answer: keeps it for the next request to the same origin, or closes it where there is no room. */
  release(): void;
  /** Closes it, whatever it is at. */
  destroy(): void;
};

/**
 * The connections of a process. How many are in use is bounded by how many requests are under way; what is bounded here is
 * what stays open between them. undici's own Agent bounds neither that nor the time that connecting may take.
 */
export function createConnections({
  idleMs = IDLE_MS,
  mostIdle = MOST_IDLE,
  ...dialing
}: ConnectionSettings): (origin: string) => Connection {
  const idle = new Map<string, Connection[]>();
  let count = 0;

  function removeIdle(origin: string, connection: Connection): boolean {
    const unused = idle.get(origin) ?? [];
    const index = unused.lastIndexOf(connection);
    if (index < 0) return false;
    unused.splice(index, 1);
    if (unused.length === 0) idle.delete(origin);
    count -= 1;
    return true;
  }

  function open(origin: string): Connection {
    const ended = new AbortController();
    const client = new Client(origin, {
      connect: ({ protocol, hostname, port }, done) => {
        const peer = { protocol, hostname, port: Number(port) || (protocol === "https:" ? 443 : 80) };
        dial(peer, dialing, ended.signal)
          .then(
            // Its type asks for a socket; of a stream undici uses no more than a Duplex, ref and unref.
            (opened) => done(null, new ConnectionStream(opened) as unknown as Socket),
            (error) => done(error, null),
          )
          // Whatever undici itself throws at that must not end the process.
          .catch(destroy);
      },
      // One request at a time, which is all that may be sent again: what has not been written.
      pipelining: 1,
      maxHeaderSize: MOST_HEAD_BYTES,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
      // The whole request has one limit, which is not kept here.
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
        if (count >= mostIdle) return destroy();
        const unused = idle.get(origin);
        if (unused === undefined) idle.set(origin, [connection]);
        else unused.push(connection);
        count += 1;
      },
    };
    // One in use may dial again, for a request that it had not begun to send.
    client.on("disconnect", () => removeIdle(origin, connection) && destroy());
    return connection;
  }

  return (origin) => {
    const unused = idle.get(origin)?.at(-1);
    if (unused === undefined) return open(origin);
    removeIdle(origin, unused);
    return unused;
  };
}
