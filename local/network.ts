import { Socket } from "node:net";
import { pause } from "../shared/platform/retry.ts";

/** These ports are lower than those that systems give out for connections and servers. Fetch and browsers block none of them. */
const FREE_PORTS = { from: 11_000, below: 32_768 };

const given = new Set<number>();

/**
 * A port on 127.0.0.1 that is free now and was not returned before. Another process may take it before the caller does, which is unlikely:
 * systems give these ports only to processes that request one of them by number.
 */
export function freePort(): number {
  for (;;) {
    const port = FREE_PORTS.from + Math.floor(Math.random() * (FREE_PORTS.below - FREE_PORTS.from));
    if (given.has(port) || !isFree(port)) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}

/** The port, when it is free on 127.0.0.1 (0: any free one). Throws a one-line error when it is not available. */
export function claimPort(port: number): number {
  if (port === 0) return freePort();
  try {
    if (isFree(port)) return port;
  } catch (error) {
    if (!(error instanceof Deno.errors.PermissionDenied)) throw error;
    throw new Error(`Port ${port} needs administrator rights: choose one above 1023 with --port.`);
  }
  throw new Error(
    `Port ${port} is in use. Is another stack running? Choose another port with -- --port N, or 0 for any free one.`,
  );
}

const CHECK_EVERY_MS = 20;

/** Waits until 127.0.0.1:port accepts connections, or until `givenUp` is aborted. */
export async function waitForPort(port: number, givenUp: AbortSignal): Promise<void> {
  while (!givenUp.aborted) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch {
      await pause(CHECK_EVERY_MS);
    }
  }
  throw new Error(`nothing serves on port ${port}`);
}

type Where = { host: string[]; port: number[]; path?: string | false };

/**
 * Options for postgres.js that prevent new connections after `ended`. Without them, a connection that waits to reconnect while its
 * client ends is opened afterwards and never closed.
 */
export function socketsUntil(ended: AbortSignal): { socket(where: Where): Socket } {
  return {
    // The socket buffers what the driver writes before it is connected.
    socket({ host: [host = ""], port: [port = 0], path }) {
      const socket = Object.assign(new Socket(), { host, port });
      // If the socket ended without an error, the driver would reconnect for a waiting query.
      const giveUp = () => socket.destroy(new Error("The client has ended."));
      if (ended.aborted) setTimeout(giveUp);
      else {
        // The driver closes open sockets only; this ends one that is still connecting.
        ended.addEventListener("abort", giveUp, { once: true });
        for (const event of ["connect", "close"]) socket.once(event, () => ended.removeEventListener("abort", giveUp));
        if (path) socket.connect(path);
        else socket.connect(port, host);
      }
      return socket;
    },
  };
}
