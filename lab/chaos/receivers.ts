import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import type { Step } from "../../shared/contract/fields.ts";

/** How a receiver answers: correctly, or with one of the faults. */
export const BEHAVIOURS = {
  well: (response) => void response.writeHead(204).end(),
  slow: (response) => void setTimeout(() => response.writeHead(200).end("late"), 1_500).unref(),
  // Only in a scenario: in a run it would hold up what is measured.
  takes_fourteen_seconds: (response) => void setTimeout(() => response.writeHead(200).end("late"), 14_000).unref(),
  // At random, because all accounts of a scenario have the same hook.
  takes_fourteen_seconds_or_none: (response): void =>
    BEHAVIOURS[Math.random() < 0.5 ? "well" : "takes_fourteen_seconds"](response),
  hangs: () => undefined,
  server_error: (response) => void response.writeHead(500).end("broken"),
  gone: (response) => void response.writeHead(410).end(),
  redirects: (response) => void response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(),
  garbage: (response) => void response.socket?.end("this is no HTTP at all\r\n\r\n"),
  closes: (response) => void response.socket?.destroy(),
  closes_mid_answer: (response) => {
    response.writeHead(500, { "content-length": "1000" });
    response.write("the first half", () => response.socket?.destroy());
  },
  big_answer: (response) => void response.writeHead(500).end("x".repeat(200_000)),
  too_many_requests: (response) => void response.writeHead(429, { "retry-after": "1" }).end(),
} satisfies Record<string, (response: ServerResponse) => void>;

export type Behaviour = keyof typeof BEHAVIOURS;

export type ReceiverHost = "127.0.0.1" | "localhost";

/** The behaviours that answer 2xx in full. */
const ACCEPTING: readonly Behaviour[] = ["well", "slow", "takes_fourteen_seconds", "takes_fourteen_seconds_or_none"];

/** The requests of one event at a receiver, and its answers. */
type Received = {
  hook: string;
  event_id: string;
  type: string;
  body_md5: string;
  /** Requests with a valid signature that were answered 2xx in full. */
  taken: number;
  /** Those that failed by the receiver's own fault. */
  misbehaved: number;
};

/** An event's type and data: these of its fields are read. */
export type ReceivedEvent = { type: string; ownerId: string; projectId: string; predictionId?: string; step?: Step };

/** An unverified request. */
type Arrival = { hook: string; id: string; at: Date; signatures: string[]; body: string; behaviour: Behaviour };

/**
 * All receivers of a run in one server. Each endpoint has a hook (the last part of its address), secrets and a
 * behaviour. Requests are verified with the public library against every secret that the endpoint has had.
 */
export class Receivers {
  readonly received = new Map<string, Received>();
  /** Requests that match no known secret. They are checked again at the end, when every secret is known. */
  readonly unverified: Arrival[] = [];
  arrivals = 0;
  /** Called for each event when it first arrives at a hook. */
  onEvent: (event: ReceivedEvent) => void = () => undefined;
  readonly #secrets = new Map<string, Set<string>>();
  readonly #behaviours = new Map<string, Behaviour>();
  readonly #server = createServer((request, response) => this.#receive(request, response));
  #port = 0;

  async open(): Promise<void> {
    this.#server.keepAliveTimeout = 0; // the sender must close its connections
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The receivers have no port.");
    this.#port = address.port;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** `version` changes the address, not the hook. Another host is the same server under another name. */
  urlOf(hook: string, version = 1, host: ReceiverHost = "127.0.0.1"): string {
    return `http://${host}:${this.#port}/hooks/${hook}?v=${version}`;
  }

  know(hook: string, secrets: readonly string[]): void {
    const known = this.#secrets.get(hook) ?? new Set();
    for (const secret of secrets) known.add(secret);
    this.#secrets.set(hook, known);
  }

  setBehaviour(hook: string, behaviour: Behaviour): void {
    this.#behaviours.set(hook, behaviour);
  }

  /** All of them answer well from now on; hanging requests are closed. */
  reset(): void {
    this.#behaviours.clear();
    this.#server.closeAllConnections();
  }

  /** The arrived events, and the requests that match no secret. Requests that came before their secret was known are checked now. */
  results(): { arrivals: Received[]; forged: Arrival[] } {
    const { signed = [], forged = [] } = Object.groupBy(this.unverified.splice(0), (arrival) =>
      this.#isSigned(arrival) ? "signed" : "forged",
    );
    for (const arrival of signed) this.#note(arrival);
    return { arrivals: [...this.received.values()], forged };
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    for (const stream of [request, response]) stream.on("error", () => undefined); // the sender has gone
    request.on("end", () => {
      const hook = /^\/hooks\/([^?]+)/.exec(request.url ?? "")?.[1] ?? "";
      const header = (name: string) => String(request.headers[name] ?? "");
      const body = Buffer.concat(chunks).toString();
      const at = new Date(Number(header("webhook-timestamp")) * 1000);
      const signatures = header("webhook-signature").split(" ");
      const behaviour = this.#behaviours.get(hook) ?? "well";
      const arrival = { hook, id: header("webhook-id"), at, signatures, body, behaviour };
      this.arrivals += 1;
      if (this.#isSigned(arrival)) this.#note(arrival);
      else this.unverified.push(arrival);
      BEHAVIOURS[behaviour](response);
    });
  }

  #isSigned({ hook, id, at, signatures, body }: Arrival): boolean {
    for (const secret of this.#secrets.get(hook) ?? []) {
      if (signatures.includes(new Webhook(secret).sign(id, at, body))) return true;
    }
    return false;
  }

  #note({ hook, id, body, behaviour }: Arrival): void {
    const key = `${hook} ${id}`;
    const body_md5 = createHash("md5").update(body).digest("hex");
    const { type, data } = JSON.parse(body); // the signature is valid, so it is an event
    const before = this.received.get(key);
    const received = before ?? { hook, event_id: id, type, body_md5, taken: 0, misbehaved: 0 };
    this.received.set(key, received);
    if (received.body_md5 !== body_md5) received.body_md5 = "differs from one request to the next";
    if (ACCEPTING.includes(behaviour)) received.taken += 1;
    else received.misbehaved += 1;
    if (!before) this.onEvent({ ...data, type });
  }
}
