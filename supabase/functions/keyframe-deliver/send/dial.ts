import { isIP } from "node:net";
import { pause } from "../../../../shared/platform/retry.ts";
import type { CheckedLookup } from "./checked-lookup.ts";
import { SendError } from "./send-error.ts";

/** `lookup` resolves every host that is not an IP address. `ca`: additional trusted certificates (PEM), for tests. */
export type DialSettings = { lookup: CheckedLookup; ca?: string };

/** An empty `port` means the default port of the protocol. */
export type Peer = { protocol: string; hostname: string; port: string };

/**
 * Opens a connection for HTTP with Deno's functions, because on the hosted runtime node:tls reports a connection as secure before the
 * handshake, and fails when the first of several addresses fails.
 * Rejects with SendError or the connection's error. The signal aborts it, but the hosted runtime finishes a connect that has begun.
 */
export async function dial(peer: Peer, { lookup, ca }: DialSettings, signal: AbortSignal): Promise<Deno.Conn> {
  const { protocol, hostname, port } = peer;
  const isSecure = protocol === "https:";
  const addresses = isIP(hostname) === 0 ? await lookup(hostname) : [hostname];
  const connection = await connectFirst(addresses, Number(port) || (isSecure ? 443 : 80), signal);
  connection.setNoDelay(true);
  return isSecure ? await secure(connection, hostname, ca, signal) : connection;
}

/** After an abort during the handshake, Deno may keep the socket until the other side closes it. */
async function secure(
  connection: Deno.TcpConn,
  hostname: string,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<Deno.Conn> {
  // startTls takes over the connection and sends nothing yet.
  const caCerts = ca === undefined ? [] : [ca];
  const secured = await Deno.startTls(connection, { hostname, caCerts, alpnProtocols: ["http/1.1"] }).catch((error) => {
    connection.close();
    throw error;
  });
  const close = () => secured.close();
  signal.addEventListener("abort", close);
  try {
    signal.throwIfAborted();
    await secured.handshake();
    signal.throwIfAborted();
    return secured;
  } catch (error) {
    if (!signal.aborted) close();
    if (isHangUp(error)) throw error;
    throw new SendError("tls", error instanceof Error ? error.message : "The handshake failed.");
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/** Whether the other side closed the connection. */
function isHangUp(error: unknown): boolean {
  const { BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof } = Deno.errors;
  return [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].some((kind) => error instanceof kind);
}

/** How long the current address is tried before the next one starts, as RFC 8305 recommends. */
const HEAD_START_MS = 250;

/**
 * Connects to the first of several IP addresses that accepts. The next address starts after HEAD_START_MS, or at once when the current one
 * fails. Rejects when all have failed.
 */
async function connectFirst(addresses: string[], port: number, signal: AbortSignal): Promise<Deno.TcpConn> {
  const connected = new AbortController();
  const over = AbortSignal.any([signal, connected.signal]);
  async function connect(hostname: string): Promise<Deno.TcpConn> {
    over.throwIfAborted();
    const connection = await Deno.connect({ hostname, port, signal: over });
    if (!over.aborted) {
      connected.abort();
      return connection;
    }
    connection.close(); // the hosted runtime's Deno.connect ignores the signal
    throw over.reason;
  }
  let turn: Promise<unknown> = Promise.resolve();
  const attempts = addresses.map((hostname) => {
    const attempt = turn.then(() => connect(hostname));
    turn = Promise.race([attempt.catch(() => undefined), turn.then(() => pause(HEAD_START_MS, over))]);
    return attempt;
  });
  return await Promise.any(attempts);
}
