import { createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export type Trap = {
  port: number;
  /** Connections that anybody has opened, to whichever loopback address it listens on. */
  connections(): number;
};

/** Listens on loopback, IPv4 and, where the machine has it, IPv6, and counts who connects. Ends with its test. */
export async function setTrap(host = "127.0.0.1", port = 0): Promise<Trap> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(port, host, listening);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The trap has no port.");
  return { port: address.port, connections: () => connections };
}

/**
 * Notes every address that this process asks the system to connect to, and lets none of them through but what `permit` names.
 * Undone with its test.
 */
export function watchDials(permit: (dial: string) => boolean = () => false): string[] {
  const dials: string[] = [];
  const { connect } = Deno;
  const watched = (options: Deno.ConnectOptions): Promise<Deno.TcpConn> => {
    const dial = `${options.hostname}:${options.port}`;
    dials.push(dial);
    return permit(dial) ? connect(options) : Promise.reject(new Deno.errors.ConnectionRefused(dial));
  };
  // Deno.connect is overloaded for Unix sockets too, which nothing here opens.
  Deno.connect = watched as typeof Deno.connect;
  onTestFinished(() => {
    Deno.connect = connect;
  });
  return dials;
}
