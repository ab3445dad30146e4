import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Webhook } from "standardwebhooks";
import { type Habit, HABITS, TAKES_IT } from "./habits.ts";

/** What a receiver saw of one event: how many requests of each kind, and how it answered them. */
export type Seen = {
  slot: string;
  eventId: string;
  type: string;
  bodyMd5: string;
  /** Requests whose signature holds. */
  valid: number;
  /** Of those, the ones whose timestamp is more than five minutes off, so that a receiver refuses them. */
  stale: number;
  /** Requests with the right signature that were answered 2xx in full. */
  taken: number;
  /** Requests that were answered badly by the receiver's own fault. */
  misbehaved: number;
};

/** The end of a prediction, as an event told it. */
export type ToldEnd = { ownerId: string; predictionId: string; projectId: string; step: string; succeeded: boolean };

const TOLERANCE_MS = 5 * 60_000;

/** A request, unverified as yet. */
type Arrival = { slot: string; id: string; at: Date; signatures: string[]; body: string; habit: Habit };

/**
 * All receivers of a run in one server: each endpoint has a slot, which is the last part of its address, secrets and a habit.
 * What arrives is verified with the public library against every secret that the endpoint has had so far.
 */
export class Receivers {
  readonly seen = new Map<string, Seen>();
  /** Requests that no secret fits; looked at again at the end, when every secret is known. */
  readonly unverified: Arrival[] = [];
  arrivals = 0;
  onEnd: (end: ToldEnd) => void = () => undefined;
  readonly #secrets = new Map<string, Set<string>>();
  readonly #habits = new Map<string, Habit>();
  readonly #server = createServer((request, response) => this.#receive(request, response));
  #port = 0;

  async open(): Promise<void> {
    this.#server.keepAliveTimeout = 0; // a connection that is not needed any more is for the sender to close
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

  get port(): number {
    return this.#port;
  }

  /** `version` changes the address and not the slot. */
  urlOf(slot: string, version = 1): string {
    return `http://127.0.0.1:${this.#port}/hooks/${slot}?v=${version}`;
  }

  know(slot: string, secrets: readonly string[]): void {
    const known = this.#secrets.get(slot) ?? new Set();
    for (const secret of secrets) known.add(secret);
    this.#secrets.set(slot, known);
  }

  behave(slot: string, habit: Habit): void {
    this.#habits.set(slot, habit);
  }

  /** All of them answer well from now on; what hangs is let go. */
  heal(): void {
    this.#habits.clear();
    this.#server.closeAllConnections();
  }

  /** How many requests no secret fits, now that all are known. */
  forged(): Arrival[] {
    return this.unverified.splice(0).filter((arrival) => {
      if (!this.#isSigned(arrival)) return true;
      this.#note(arrival, false); // it was answered before anybody could say whether its time is right
      return false;
    });
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    for (const stream of [request, response]) stream.on("error", () => undefined); // whoever asked has left
    request.on("end", () => {
      const slot = /^\/hooks\/([^?]+)/.exec(request.url ?? "")?.[1] ?? "";
      const header = (name: string) => String(request.headers[name] ?? "");
      const body = new TextDecoder().decode(join(chunks));
      const at = new Date(Number(header("webhook-timestamp")) * 1000);
      const signatures = header("webhook-signature").split(" ");
      const habit = this.#habits.get(slot) ?? "well";
      const arrival = { slot, id: header("webhook-id"), at, signatures, body, habit };
      this.arrivals += 1;
      const isStale = Math.abs(Date.now() - at.getTime()) > TOLERANCE_MS;
      if (!this.#isSigned(arrival)) this.unverified.push(arrival);
      else {
        this.#note(arrival, isStale);
        if (isStale) return void response.writeHead(400).end("an old signature");
      }
      HABITS[habit](response);
    });
  }

  #isSigned({ slot, id, at, signatures, body }: Arrival): boolean {
    for (const secret of this.#secrets.get(slot) ?? []) {
      if (signatures.includes(new Webhook(secret).sign(id, at, body))) return true;
    }
    return false;
  }

  #note({ slot, id, body, habit }: Arrival, isStale: boolean): void {
    const key = `${slot} ${id}`;
    const bodyMd5 = createHash("md5").update(body).digest("hex");
    const before = this.seen.get(key);
    const seen = before ?? {
      slot,
      eventId: id,
      type: typeOf(body),
      bodyMd5,
      valid: 0,
      stale: 0,
      taken: 0,
      misbehaved: 0,
    };
    this.seen.set(key, seen);
    if (seen.bodyMd5 !== bodyMd5) seen.bodyMd5 = "differs from one request to the next";
    seen.valid += 1;
    if (isStale) seen.stale += 1;
    else if (TAKES_IT.includes(habit)) seen.taken += 1;
    else seen.misbehaved += 1;
    if (!before) this.#tell(body);
  }

  #tell(body: string): void {
    // Signed by the service, so it is one of its events.
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, string> };
    const { ownerId = "", predictionId = "", projectId = "", step = "" } = data;
    if (predictionId !== "")
      this.onEnd({ ownerId, predictionId, projectId, step, succeeded: type === "generation.succeeded" });
  }
}

// Signed by the service, so it is one of its events.
const typeOf = (body: string): string => (JSON.parse(body) as { type: string }).type;

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
