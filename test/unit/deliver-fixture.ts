import https from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { createLog } from "../../shared/platform/log.ts";
import { createAttempt, type Delivery } from "../../supabase/functions/keyframe-deliver/send/attempt.ts";
import { createCheckedLookup, type Resolve } from "../../supabase/functions/keyframe-deliver/send/dial.ts";
import { createPost, type PostSettings } from "../../supabase/functions/keyframe-deliver/send/post.ts";

export const SECRET = `whsec_${btoa("a".repeat(32))}`;
export const EVENT = "5d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a05";

/** Names under .test are this machine, as far as the tests are concerned. */
export const resolveHere: Resolve = async () => [{ address: "127.0.0.1", family: 4 }];

export const delivery = (url: string, change: Partial<Delivery> = {}): Delivery => ({
  id: "4d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a04",
  attempt: 1,
  endpoint_id: "7d7f6f0e-6a0c-4d6e-9f38-0e8f6f1b7a07",
  event_id: EVENT,
  body: '{"type": "webhook.test", "data": {"endpointId": "ä😀"}}',
  url,
  secrets: [SECRET],
  ...change,
});

/** Makes attempts against receivers on this machine. */
export function makeAttempt(
  settings: Partial<PostSettings> & {
    resolve?: Resolve;
    allowLocal?: boolean;
    now?: () => number;
    /** Lines of the log. */
    lines?: string[];
  } = {},
) {
  const { resolve = resolveHere, allowLocal = true, now = Date.now, lines = [], ...rest } = settings;
  const post = createPost({ lookup: createCheckedLookup(resolve, { allowLocal }), ...rest });
  return createAttempt({ post, allowLocal, now, log: createLog({}, (line) => lines.push(line)) });
}

export type Receiver = {
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
    socket.on("error", () => {}); // whoever sends too much is cut off
    socket.on("close", () => sockets.delete(socket));
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      const end = text.indexOf("\r\n\r\n") + 4 + length;
      if (Number.isNaN(end) || text.length < end) return;
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
  return { port, requests, connections: () => connections };
}

/** A receiver that answers with the name it was asked for in the handshake and in the request. */
export async function receiveSecurely() {
  const certificate = await makeCertificate("hooks.test");
  let connections = 0;
  const server = https.createServer(certificate, (request, response) => {
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
  return { port, ca: certificate.cert, connections: () => connections };
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

/** DER, the encoding of certificates: a tag, the length, the content. */
function der(tag: number, ...parts: (Uint8Array | number[])[]): Uint8Array {
  const content = parts.flatMap((part) => [...part]);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Uint8Array.from([tag, ...size, ...content]);
}
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const derText = (tag: number, value: string) => der(tag, new TextEncoder().encode(value));

/** A positive integer: no needless zeros before it, and one where its first bit would make it negative. */
function integer(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(start);
  return der(0x02, (digits[0] ?? 0) > 127 ? [0, ...digits] : digits);
}

const ECDSA_WITH_SHA256 = sequence(der(0x06, [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]));
const COMMON_NAME = der(0x06, [0x55, 0x04, 0x03]);
const ALTERNATIVE_NAMES = der(0x06, [0x55, 0x1d, 0x11]);
const DNS_NAME = 0x82;

const pem = (label: string, bytes: Uint8Array) =>
  `-----BEGIN ${label}-----\n${bytes.toBase64()}\n-----END ${label}-----\n`;

/** A self-signed certificate for a host name, with its key, in PEM. Made for each run: none expires in the repository. */
async function makeCertificate(host: string): Promise<{ key: string; cert: string }> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const pair = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const name = sequence(der(0x31, sequence(COMMON_NAME, derText(0x0c, host))));
  const names = der(0x04, sequence(derText(DNS_NAME, host)));
  const body = sequence(
    der(0xa0, integer(Uint8Array.of(2))), // version 3
    integer(Uint8Array.of(1, ...crypto.getRandomValues(new Uint8Array(8)))),
    ECDSA_WITH_SHA256,
    name,
    sequence(derText(0x18, "20200101000000Z"), derText(0x18, "20991231235959Z")),
    name,
    new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey)),
    der(0xa3, sequence(sequence(ALTERNATIVE_NAMES, names))),
  );
  const signature = new Uint8Array(
    await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, Uint8Array.from(body)),
  );
  const signatureDer = sequence(integer(signature.subarray(0, 32)), integer(signature.subarray(32)));
  const key = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  return {
    key: pem("PRIVATE KEY", key),
    cert: pem("CERTIFICATE", sequence(body, ECDSA_WITH_SHA256, der(0x03, [0], signatureDer))),
  };
}
