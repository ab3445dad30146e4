import { sign } from "../sign.ts";
import { type EventType, type Prediction, predictionJson } from "./prediction.ts";
import { randomId, randomWebhookSecret } from "./random.ts";
import type { SimulatorSettings } from "./settings.ts";
import type { SimulatedClock } from "./simulated-clock.ts";

const ATTEMPT_TIMEOUT_MS = 10_000;
/** `output` and `logs` are sent at most this often per prediction. */
const THROTTLE_MS = 500;

type Message = { id: string; url: string; body: string; secret: string };
/** The callbacks of one prediction: each waits for the first attempt of the previous one, not for its retries. */
type Lane = { tail: Promise<void>; waiting: (() => Promise<void>)[]; sentAt: Map<EventType, number> };

/** Sends callbacks: one POST per event with a Standard Webhooks signature, repeated with the same `webhook-id` until a 2xx. */
export class CallbackSender {
  readonly counts = { sent: 0, delivered: 0, retried: 0, given_up: 0 };
  readonly #settings: SimulatorSettings;
  readonly #clock: SimulatedClock;
  readonly #lanes = new WeakMap<Prediction, Lane>();
  readonly #stopped = new AbortController();

  constructor(settings: SimulatorSettings, clock: SimulatedClock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Sends `event` with the prediction's current state, unless its filter, the throttle or a fault prevents it. */
  send(prediction: Prediction, event: EventType): void {
    const { webhook: url, webhookEvents, faults } = prediction;
    if (!url || faults.has("callback_lost") || webhookEvents?.includes(event) === false) return;
    const { webhookSecret, baseUrl } = this.#settings;
    const lane: Lane = this.#lanes.get(prediction) ?? { tail: Promise.resolve(), waiting: [], sentAt: new Map() };
    this.#lanes.set(prediction, lane);
    const isThrottled = event === "output" || event === "logs";
    if (isThrottled && this.#clock.now() - (lane.sentAt.get(event) ?? Number.NEGATIVE_INFINITY) < THROTTLE_MS) return;
    const isFirst = lane.sentAt.size === 0;
    lane.sentAt.set(event, this.#clock.now());

    const late = faults.get("callback_late");
    const delayMs = late === undefined ? 0 : Number.parseInt(late, 10) || 2000;
    const delivery = (said: Prediction, secret: string) => {
      const body = JSON.stringify(predictionJson(said, baseUrl()));
      const message = { id: `msg_${randomId()}`, url, body, secret };
      return () =>
        this.#deliver(message, delayMs, () => {
          said.callbackAccepted = true; // a forged callback sets it only in its copy
        });
    };
    const genuine = delivery(prediction, webhookSecret);
    const sendings = faults.has("callback_doubled") ? [genuine, genuine] : [genuine];
    if (faults.has("callback_forged") && isFirst) {
      const forged = { ...prediction, status: "failed" as const, error: "forged", completedAt: new Date() };
      sendings.unshift(delivery(forged, randomWebhookSecret()));
    }
    if (event === "completed") sendings.push(...lane.waiting);
    else if (faults.has("callback_reordered")) lane.waiting.unshift(...sendings.splice(0));
    for (const one of sendings) lane.tail = lane.tail.then(one);
  }

  /** Cancels all retries. */
  stop(): void {
    this.#stopped.abort(new Error("the simulator stops"));
  }

  async #deliver(message: Message, delayMs: number, onAccepted: () => void): Promise<void> {
    await this.#clock.wait(delayMs, this.#stopped.signal).catch(() => undefined);
    if (await this.#attempt(message)) onAccepted();
    else void this.#retry(message, onAccepted).catch(() => undefined);
  }

  async #retry(message: Message, onAccepted: () => void): Promise<void> {
    for (const wait of this.#settings.callbackRetryMs) {
      await this.#clock.wait(wait, this.#stopped.signal);
      this.counts.retried += 1;
      if (await this.#attempt(message)) return onAccepted();
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
        headers: { "content-type": "application/json", ...sign(secret, id, new Date(), body) },
        body,
        signal: AbortSignal.any([AbortSignal.timeout(ATTEMPT_TIMEOUT_MS), this.#stopped.signal]),
      });
      await response.body?.cancel();
      if (response.ok) this.counts.delivered += 1;
      return response.ok;
    } catch {
      return false;
    }
  }
}
