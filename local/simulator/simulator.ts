import { CallbackSender } from "./callbacks.ts";
import { checkInput } from "./check-input.ts";
import { type AnswerFault, FaultBook, type Faults, unknownDirective } from "./faults.ts";
import { models } from "./models.ts";
import { type Prediction, Stop } from "./prediction.ts";
import { randomId } from "./random.ts";
import { type CreateRequest, invalidInput, notFound, Problem } from "./requests.ts";
import { runPrediction } from "./run-prediction.ts";
import type { SimulatorSettings } from "./settings.ts";
import { SimulatedClock } from "./simulated-clock.ts";
import { Outputs, StoredFiles } from "./stored-files.ts";

/** The provider removes a prediction's data this long after its end. */
const DATA_LIFETIME_MS = 3_600_000;

/** The provider without HTTP: predictions, files, outputs, callbacks and faults, all in memory. */
export class Simulator {
  readonly clock = new SimulatedClock();
  readonly faults = new FaultBook();
  readonly files = new StoredFiles(this.clock);
  readonly outputs = new Outputs(this.clock);
  /** The files for the fault output_file, by name. */
  readonly givenFiles = new Map<string, Uint8Array>();
  readonly callbacks: CallbackSender;
  readonly #predictions = new Map<string, Prediction>();
  readonly #answers: Partial<Record<AnswerFault, number>> = {};

  constructor(readonly settings: SimulatorSettings) {
    this.callbacks = new CallbackSender(settings, this.clock);
  }

  /** Creates a prediction and starts it; "no answer" if a fault withholds the answer. Throws a {@link Problem} when it is refused. */
  create(name: string, request: CreateRequest, cancelAfterMs: number | null): Prediction | "no answer" {
    const model = models[name];
    if (!model) throw notFound();
    const prompt = typeof request.input.prompt === "string" ? request.input.prompt : "";
    const misspelt = unknownDirective(prompt);
    if (misspelt !== undefined) {
      throw invalidInput([{ type: "fault", field: "input.prompt", description: `there is no fault "${misspelt}"` }]);
    }
    const wrong = checkInput(model, request.input);
    if (wrong.length > 0) throw invalidInput(wrong);

    const faults = this.faults.take(name, prompt);
    const { answer } = faults;
    if (answer) this.#answers[answer] = (this.#answers[answer] ?? 0) + 1;
    if (answer === "timeout") return "no answer";
    if (answer && answer !== "lost_answer") throw refusal(answer, faults.answerValue);

    const prediction = newPrediction(name, request, cancelAfterMs, faults);
    this.#predictions.set(prediction.id, prediction);
    if (cancelAfterMs !== null) void this.#cancelAfter(prediction, cancelAfterMs);
    // Deferred, so the create's response shows the initial state.
    setTimeout(() => void runPrediction(prediction, model, this));
    return prediction;
  }

  async #cancelAfter(prediction: Prediction, ms: number): Promise<void> {
    const over = new AbortController();
    void prediction.ended.promise.then(() => over.abort());
    await this.clock.wait(ms, over.signal).then(
      () => prediction.stop.abort(new Stop(prediction.startedAt ? "canceled" : "aborted")),
      () => undefined,
    );
  }

  get(id: string): Prediction | undefined {
    this.#removeOldData();
    return this.#predictions.get(id);
  }

  /** All predictions, the newest first. */
  list(): Prediction[] {
    this.#removeOldData();
    return [...this.#predictions.values()].reverse();
  }

  #removeOldData(): void {
    for (const prediction of this.#predictions.values()) {
      if (prediction.endedAt === null || this.clock.now() - prediction.endedAt <= DATA_LIFETIME_MS) continue;
      Object.assign(prediction, { dataRemoved: true, input: {}, output: null, logs: "" });
    }
  }

  /** Cancels the prediction and resolves when it has ended. An ended prediction does not change. */
  async cancel(prediction: Prediction): Promise<void> {
    prediction.cancelRequested = true;
    prediction.stop.abort(new Stop("canceled"));
    await prediction.ended.promise;
  }

  /** Counts for tests. */
  state() {
    return { creates: this.#predictions.size, answers: this.#answers, callbacks: this.callbacks.counts };
  }

  stop(): void {
    for (const prediction of this.#predictions.values()) prediction.stop.abort(new Stop("canceled"));
    this.callbacks.stop();
  }
}

function newPrediction(
  model: string,
  { input, webhook, webhook_events_filter }: CreateRequest,
  cancelAfterMs: number | null,
  faults: Faults,
): Prediction {
  const createdAt = new Date();
  return {
    id: randomId(),
    model,
    input,
    output: null,
    logs: "",
    error: null,
    status: "starting",
    dataRemoved: false,
    createdAt,
    startedAt: null,
    completedAt: null,
    deadline: cancelAfterMs === null ? null : new Date(createdAt.getTime() + cancelAfterMs),
    webhook: webhook ?? null,
    webhookEvents: webhook_events_filter ?? null,
    answerLost: faults.answer === "lost_answer",
    cancelRequested: false,
    callbackAccepted: false,
    endedAt: null,
    quantities: { run: 1, image: 0, second: 0, input_megapixel: 0, output_megapixel: 0 },
    micros: null,
    faults: faults.run,
    stop: new AbortController(),
    ended: Promise.withResolvers(),
  };
}

function refusal(fault: AnswerFault, value: string): Problem {
  switch (fault) {
    case "rate_limited": {
      const retryAfter = Number.parseInt(value, 10) || 1;
      const detail = `Request was throttled. Your rate limit for creating predictions resets in ~${retryAfter}s.`;
      return new Problem(429, null, detail, { retry_after: retryAfter });
    }
    case "server_error":
      return new Problem(Number.parseInt(value, 10) || 500, "Internal server error", "An unexpected error occurred.");
    case "model_gone":
      return notFound();
    case "content_refused": {
      const detail = value || "The prompt contains sensitive words that violate our policies.";
      return new Problem(422, "Input rejected", detail);
    }
    default:
      return invalidInput([
        { type: "rejected", field: "input.prompt", description: value || "the input was rejected" },
      ]);
  }
}
