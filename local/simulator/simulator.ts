import { Account } from "./bill.ts";
import { CallbackSender } from "./callbacks.ts";
import { checkInput } from "./check-input.ts";
import { type CreateRequest, invalidInput, notFound, Problem, throttled } from "./requests.ts";
import { Drawer } from "./draw/drawer.ts";
import { type AnswerFault, FaultBook, type Faults, unknownDirective } from "./faults.ts";
import type { Studio } from "./make-output.ts";
import { models } from "./models.ts";
import { Outputs, StoredFiles } from "./stored-files.ts";
import { hasEnded, type Prediction, type Status, statuses, Stop } from "./prediction.ts";
import { randomId } from "./random.ts";
import { type Delays, runPrediction } from "./run-prediction.ts";
import type { SimulatedClock } from "./simulated-clock.ts";

const forgottenAfterMs = 2 * 3_600_000;

type SimulatorSettings = {
  token: string;
  webhookSecret: string;
  delays: Delays;
  callbackRetryMs: readonly number[];
  outputLifetimeMs: number;
  imageWidth: number;
  baseUrl: () => string;
  clock: SimulatedClock;
  fetch: typeof fetch;
};

/** The result of a create: a prediction and whether its response is lost, or no response at all. */
type Created = { prediction: Prediction; loseAnswer: boolean } | "no answer";

/** The provider without HTTP: predictions, files, outputs, callbacks and faults, all in memory. */
export class Simulator {
  readonly settings: SimulatorSettings;
  readonly faults: FaultBook;
  readonly files: StoredFiles;
  readonly outputs: Outputs;
  readonly callbacks: CallbackSender;
  readonly account = new Account();
  readonly #pictures = new Drawer();
  readonly #films = new Drawer();
  readonly #predictions = new Map<string, Prediction>();
  readonly #answers = new Map<AnswerFault, number>();
  #creates = 0;

  constructor(settings: SimulatorSettings) {
    this.settings = settings;
    const { clock, webhookSecret, callbackRetryMs, baseUrl, fetch } = settings;
    this.faults = new FaultBook(() => clock.wall().getTime());
    this.files = new StoredFiles(clock);
    this.outputs = new Outputs(clock, settings.outputLifetimeMs);
    this.callbacks = new CallbackSender({ secret: webhookSecret, retryMs: callbackRetryMs, baseUrl, clock, fetch });
  }

  /** Creates a prediction and starts it. Throws a {@link Problem} when it is refused. */
  create(name: string, request: CreateRequest, cancelAfterMs: number | null): Created {
    this.sweep();
    const model = models[name];
    if (!model) throw notFound();
    const prompt = typeof request.input.prompt === "string" ? request.input.prompt : "";
    const misspelt = unknownDirective(prompt);
    if (misspelt !== null) {
      throw invalidInput([{ type: "fault", field: "input.prompt", description: `there is no fault "${misspelt}"` }]);
    }
    const wrong = checkInput(model, request.input);
    if (wrong.length > 0) throw invalidInput(wrong);

    const faults = this.faults.take(name, prompt);
    if (faults.answer) this.#answers.set(faults.answer, (this.#answers.get(faults.answer) ?? 0) + 1);
    if (faults.answer === "timeout") return "no answer";
    if (faults.answer && faults.answer !== "lost_answer") throw refusal(faults.answer, faults.answerValue);

    const prediction = this.#newPrediction(name, request, cancelAfterMs, faults);
    this.#predictions.set(prediction.id, prediction);
    this.#creates += 1;
    this.settings.clock.after(0, () => void runPrediction(prediction, model, { ...this.settings, ...this.#stage() }));
    return { prediction, loseAnswer: faults.answer === "lost_answer" };
  }

  get(id: string): Prediction | null {
    this.sweep();
    return this.#predictions.get(id) ?? null;
  }

  /** All predictions, the newest first. */
  list(): Prediction[] {
    this.sweep();
    return [...this.#predictions.values()].reverse();
  }

  /** Cancels the prediction and resolves when it has ended. An ended prediction does not change. */
  async cancel(prediction: Prediction): Promise<void> {
    prediction.cancelAsked = true;
    if (!hasEnded(prediction)) prediction.stop.abort(new Stop("canceled"));
    await prediction.ended;
  }

  /** Removes expired data, as the provider does after an hour. */
  sweep(): void {
    const now = this.settings.clock.now();
    for (const prediction of this.#predictions.values()) {
      if (prediction.endedAt === null) continue;
      const age = now - prediction.endedAt;
      if (age > forgottenAfterMs) this.#predictions.delete(prediction.id);
      if (age <= this.settings.outputLifetimeMs || prediction.dataRemoved) continue;
      prediction.dataRemoved = true;
      prediction.input = {};
      prediction.output = null;
      prediction.logs = "";
    }
    this.outputs.sweep();
    this.files.sweep();
  }

  /** Counts for tests. */
  state() {
    const byStatus = Object.fromEntries(statuses.map((status) => [status, 0])) as Record<Status, number>;
    for (const { status } of this.#predictions.values()) byStatus[status] += 1;
    return {
      creates: this.#creates,
      predictions: byStatus,
      answers: Object.fromEntries(this.#answers),
      callbacks: { ...this.callbacks.counts },
      faults: this.faults.armed.map((fault) => ({ ...fault })),
      delays: { start_ms: this.settings.delays.startMs, run_ms: this.settings.delays.runMs },
    };
  }

  /** Each prediction with what the API does not show, for tests. */
  made() {
    return this.list().map(({ id, status, input, webhook, answerLost, cancelAsked }) => {
      return { id, status, input, webhook, answer_lost: answerLost, cancel_asked: cancelAsked };
    });
  }

  stop(): void {
    for (const prediction of this.#predictions.values()) prediction.stop.abort(new Stop("canceled"));
    this.callbacks.stop();
    this.#pictures.stop();
    this.#films.stop();
    this.settings.clock.stop();
  }

  #stage() {
    const { files, outputs, callbacks, account } = this;
    const { fetch, imageWidth } = this.settings;
    const source = { files, fetch, baseUrl: this.settings.baseUrl() };
    const studio: Studio = { pictures: this.#pictures, films: this.#films, source, imageWidth };
    return { outputs, callbacks, account, studio };
  }

  #newPrediction(model: string, request: CreateRequest, cancelAfterMs: number | null, faults: Faults): Prediction {
    const { clock } = this.settings;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const stop = new AbortController();
    const createdAt = clock.wall();
    const prediction: Prediction = {
      id: randomId(),
      model,
      input: request.input,
      output: null,
      logs: "",
      error: null,
      status: "starting",
      dataRemoved: false,
      createdAt,
      startedAt: null,
      completedAt: null,
      deadline: cancelAfterMs === null ? null : new Date(createdAt.getTime() + cancelAfterMs),
      webhook: request.webhook ?? null,
      answerLost: faults.answer === "lost_answer",
      cancelAsked: false,
      webhookEvents: request.webhook_events_filter ?? null,
      endedAt: null,
      quantities: { run: 1, image: 0, second: 0, input_megapixel: 0, output_megapixel: 0 },
      isBilled: false,
      faults: faults.run,
      stop,
      ended,
      markEnded: resolve,
    };
    if (cancelAfterMs !== null) {
      const abort = () => stop.abort(new Stop(prediction.startedAt ? "canceled" : "aborted"));
      const disarm = clock.after(cancelAfterMs, abort);
      void ended.then(disarm);
    }
    return prediction;
  }
}

function refusal(fault: AnswerFault, value: string): Problem {
  if (fault === "rate_limited") return throttled(Number.parseInt(value, 10) || 1);
  if (fault === "server_error") {
    return new Problem(Number.parseInt(value, 10) || 500, "Internal server error", "An unexpected error occurred.");
  }
  if (fault === "model_gone") return notFound();
  if (fault === "content_refused") {
    return new Problem(
      422,
      "Input rejected",
      value || "The prompt contains sensitive words that violate our policies.",
    );
  }
  const description = value || "the input was rejected";
  return invalidInput([{ type: "rejected", field: "input.prompt", description }]);
}
