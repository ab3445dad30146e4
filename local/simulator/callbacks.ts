import { sign } from "../../shared/webhooks/signed-handler.ts";
import { type EventType, type Prediction, predictionJson } from "./prediction.ts";
import { randomId, randomWebhookSecret } from "./random.ts";
import type { SimulatedClock } from "./simulated-clock.ts";

const attemptTimeoutMs = 10_000;
/** `output` and `logs` are sent at most this often per prediction. */
const throttleMs = 500;

type CallbackCounts = { sent: number; delivered: number; retried: number; given_up: number; lost: number };
type Message = { id: string; url: string; body: string; secret: string };
type Lane = {
  tail: Promise<unknown>;
  held: (() => Promise<unknown>)[];
  lastSent: Map<EventType, number>;
  forged: boolean;
};

type CallbackSettings = {
  secret: string;
  /** Milliseconds before the second, third … attempt. */
  retryMs: readonly number[];
  baseUrl: () => string;
  clock: SimulatedClock;
  fetch: typeof fetch;
};

/** Sends callbacks: one POST per event with a Standard Webhooks signature, repeated with the same `webhook-id` until a 2xx. */
export class CallbackSender {
  readonly counts: CallbackCounts = { sent: 0, delivered: 0, retried: 0, given_up: 0, lost: 0 };
  readonly #settings: CallbackSettings;
  readonly #lanes = new Map<string, Lane>();
  readonly #stopped = new AbortController();

  constructor(settings: CallbackSettings) {
    this.#settings = settings;
  }

  /** Sends `event` with the prediction's current state, unless its filter, the throttle or a fault prevents it. */
  send(prediction: Prediction, event: EventType): void {
    const { webhook, webhookEvents } = prediction;
    if (!webhook) return;
    if (webhookEvents?.includes(event) ?? true) this.#offer(prediction, event, webhook);
    if (event === "completed") this.#close(prediction.id);
  }

  #offer(prediction: Prediction, event: EventType, url: string): void {
    const { faults, id } = prediction;
    if (faults.has("callback_lost")) {
      this.counts.lost += 1;
      return;
    }
    const lane = this.#lane(id);
    if (this.#tooSoon(lane, event)) return;
    if (faults.has("callback_forged") && !lane.forged) {
      lane.forged = true;
      this.#queue(lane, this.#forged(prediction, url), 0);
    }
    const body = JSON.stringify(predictionJson(prediction, this.#settings.baseUrl()));
    const message: Message = { id: `msg_${randomId()}`, url, body, secret: this.#settings.secret };
    const late = faults.get("callback_late");
    const delayMs = late === undefined ? 0 : Number.parseInt(late, 10) || 2000;
    if (faults.has("callback_reordered") && event !== "completed") {
      lane.held.unshift(() => this.#deliver(message, delayMs));
      return;
    }
    this.#queue(lane, message, delayMs);
    if (faults.has("callback_doubled")) this.#queue(lane, message, delayMs);
  }

  #tooSoon(lane: Lane, event: EventType): boolean {
    if (event !== "output" && event !== "logs") return false;
    const now = this.#settings.clock.now();
    if (now - (lane.lastSent.get(event) ?? Number.NEGATIVE_INFINITY) < throttleMs) return true;
    lane.lastSent.set(event, now);
    return false;
  }

  /** After the last event: sends what a fault has delayed and removes the lane. */
  #close(id: string): void {
    const lane = this.#lanes.get(id);
    for (const held of lane?.held ?? []) if (lane) lane.tail = lane.tail.then(held);
    this.#lanes.delete(id);
  }

  /** Cancels all retries. */
  stop(): void {
    this.#stopped.abort(new Error("the simulator stops"));
  }

  #lane(id: string): Lane {
    const lane = this.#lanes.get(id) ?? { tail: Promise.resolve(), held: [], lastSent: new Map(), forged: false };
    this.#lanes.set(id, lane);
    return lane;
  }

  /** Events of one prediction are sent in order: each waits for the first attempt of the previous one, not for its retries. */
  #queue(lane: Lane, message: Message, delayMs: number): void {
    lane.tail = lane.tail.then(() => this.#deliver(message, delayMs));
  }

  async #deliver(message: Message, delayMs: number): Promise<void> {
    try {
      if (delayMs > 0) await this.#settings.clock.wait(delayMs, this.#stopped.signal);
    } catch {
      return;
    }
    if (await this.#attempt(message)) return;
    void this.#retry(message).catch(() => {});
  }

  async #retry(message: Message): Promise<void> {
    for (const wait of this.#settings.retryMs) {
      await this.#settings.clock.wait(wait, this.#stopped.signal);
      this.counts.retried += 1;
      if (await this.#attempt(message)) return;
    }
    this.counts.given_up += 1;
  }

  async #attempt({ id, url, body, secret }: Message): Promise<boolean> {
    if (this.#stopped.signal.aborted) return true;
    this.counts.sent += 1;
    try {
      const response = await this.#settings.fetch(url, {
        method: "POST",
        redirect: "manual",
        // The real time, because receivers compare it with their own clocks.
        headers: { "content-type": "application/json", ...sign(secret, id, this.#settings.clock.wall(), body) },
        body,
        signal: AbortSignal.any([AbortSignal.timeout(attemptTimeoutMs), this.#stopped.signal]),
      });
      await response.body?.cancel();
      if (response.ok) this.counts.delivered += 1;
      return response.ok;
    } catch {
      return false;
    }
  }

  /** A callback signed with a wrong secret, which the receiver must refuse. */
  #forged(prediction: Prediction, url: string): Message {
    const forged = {
      ...prediction,
      status: "failed" as const,
      error: "forged",
      completedAt: this.#settings.clock.wall(),
    };
    const body = JSON.stringify(predictionJson(forged, this.#settings.baseUrl()));
    return { id: `msg_${randomId()}`, url, body, secret: randomWebhookSecret() };
  }
}
