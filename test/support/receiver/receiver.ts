import { Buffer } from "node:buffer";
import { createServer, type ServerResponse } from "node:http";

/** A request as it came: the raw body, and headers by their lower-case names. */
export type Arrival = { id: string; body: string; headers: Record<string, string>; at: number };

/** How a receiver answers; `turn` counts its requests from 1. */
export type Habit = (response: ServerResponse, turn: number) => void;

export type FlowReceiver = {
  url: string;
  /** Every request, oldest first, whatever it was answered. */
  arrivals: readonly Arrival[];
  /** Answers from now on like this. */
  behave(habit: Habit): void;
  /** Cuts the connections that hang; from then on connections are refused, until it opens again on the same port. */
  close(): Promise<void>;
  open(): Promise<void>;
};

/** Starts a receiver on loopback that checks nothing and has the given behaviour. Close it in the end. */
export async function startFlowReceiver(habit: Habit): Promise<FlowReceiver> {
  const arrivals: Arrival[] = [];
  let present = habit;
  let port = 0;
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("error", () => undefined);
    response.on("error", () => undefined); // the client has left
    request.on("end", () => {
      const headers: Record<string, string> = {};
      for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
      const body = new TextDecoder().decode(Buffer.concat(chunks));
      arrivals.push({ id: headers["webhook-id"] ?? "", body, headers, at: Date.now() });
      present(response, arrivals.length);
    });
  });
  const open = () =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, "127.0.0.1", () => {
        const address = server.address();
        if (address !== null && typeof address === "object") port = address.port;
        resolve();
      });
    });
  await open();
  return {
    url: `http://127.0.0.1:${port}/hooks`,
    arrivals,
    behave: (next) => {
      present = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    open,
  };
}
