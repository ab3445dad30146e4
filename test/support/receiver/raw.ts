import { createServer, type Socket } from "node:net";

/**
 * A server on loopback that does not speak HTTP: `greet` does what it likes with each connection once it has sent something.
 * Returns its port and how often somebody has connected. Close it in the end.
 */
export async function startRawServer(greet: (socket: Socket, words: string) => void): Promise<{
  port: number;
  connections(): number;
  close(): Promise<void>;
}> {
  const open = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    count++;
    open.add(socket);
    socket.on("error", () => undefined); // whoever connected has left
    socket.on("close", () => open.delete(socket));
    socket.once("data", (words) => greet(socket, words.toString()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    port: address.port,
    connections: () => count,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
