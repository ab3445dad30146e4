import https from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import hooksTest from "./hooks-test-certificate.json" with { type: "json" };

type Receiver = {
  url: string;
  port: number;
  /** Each request as it came, head and body. */
  requests: string[];
  connections(): number;
};

/** A receiver that answers each whole request by writing bytes as it likes. It closes with its test. */
export async function receive(answer: (socket: Socket, request: string) => void): Promise<Receiver> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    let text = "";
    socket.on("error", () => {}); // a sender of too much is cut off
    socket.on("close", () => sockets.delete(socket));
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
      const headEnd = text.indexOf("\r\n\r\n") + 4;
      const end = headEnd + Number(/content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
      if (headEnd < 4 || text.length < end) return;
      const request = new TextDecoder().decode(Uint8Array.from(text.slice(0, end), (c) => c.charCodeAt(0)));
      text = text.slice(end);
      requests.push(request);
      answer(socket, request);
    });
  });
  const port = await listen(server);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}`, port, requests, connections: () => connections };
}

/** A self-signed certificate for hooks.test, valid until 2099. */
const CERTIFICATE = {
  cert: pem("CERTIFICATE", hooksTest.certificate),
  key: pem("PRIVATE KEY", hooksTest.privateKey),
};

function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`;
}

/** A receiver that answers with the name it was asked for in the handshake and in the request. */
export async function receiveSecurely() {
  let connections = 0;
  const server = https.createServer(CERTIFICATE, (request, response) => {
    const { servername } = request.socket as TLSSocket; // node types the socket of both protocols alike
    response.end(`${servername} ${request.headers.host}`);
  });
  server.on("secureConnection", () => {
    connections += 1;
  });
  const port = await listen(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, ca: CERTIFICATE.cert, connections: () => connections };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The receiver has no port.");
  return address.port;
}

/** An answer in full. */
export const answer = (status: string, body = "", headers: Record<string, string> = {}): string =>
  [
    `HTTP/1.1 ${status}`,
    ...Object.entries({ "content-length": String(new TextEncoder().encode(body).length), ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    "",
    body,
  ].join("\r\n");
