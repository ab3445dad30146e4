import { hasEnded } from "./endings.ts";
import { type CallOptions, type Outcome, operate, outcomeOf, requestOf, type StartOptions } from "./operate.ts";
import { nameOf } from "./routes.ts";
import { sendOnce } from "./send-once.ts";
import type { Settings } from "./settings.ts";
import type {
  BodyOf,
  Credit,
  Estimate,
  ModelList,
  Prediction,
  StartedPrediction,
  Step,
  Usage,
  UsageGroup,
} from "./types.ts";
import {
  type PollHeaders,
  type PollOptions,
  type PollResult,
  type PredictionRef,
  type WaitOptions,
  waitFor,
} from "./wait-for.ts";

export type StepBody = {
  "first-frame": BodyOf<"startFirstFrame">;
  "last-frame": BodyOf<"startLastFrame">;
  video: BodyOf<"startVideo">;
};

/** How many seconds (1 to 25) the service may hold its answer: a start until the prediction ends, a read until its status changes. */
export type HoldOptions = { wait?: number | undefined };

function changeOf(now: Prediction, before: Prediction | undefined): "status" | "progress" | null {
  if (now.status !== before?.status) return "status";
  return now.progress === before.progress && now.queuePosition === before.queuePosition ? null : "progress";
}

export function generationMethods(settings: Settings) {
  /** The ETag and Retry-After that came with each returned prediction, for waitFor. */
  const pollHeaders = new WeakMap<Prediction, PollHeaders>();
  const remember = <P extends Prediction>({ data, etag, retryAfterSeconds }: Outcome<P>): P => {
    pollHeaders.set(data, { etag, retryAfterSeconds });
    return data;
  };
  const hold = (wait: number | undefined) => {
    if (wait === undefined) return {};
    if (!Number.isInteger(wait) || wait < 1 || wait > 25) throw new TypeError("wait must be 1 to 25 whole seconds.");
    return { headers: { prefer: `wait=${wait}` }, limitMs: settings.requestTimeoutMs + wait * 1000 };
  };

  /** Without retries, because waitFor retries. */
  const poll = async (
    { projectId, step, predictionId }: PredictionRef,
    { etag, wait, limitMs, signal }: PollOptions,
  ): Promise<PollResult<Prediction>> => {
    const headers = { ...hold(wait).headers, ...(etag === null ? {} : { "if-none-match": etag }) };
    const input = { query: { projectId, predictionId }, headers, limitMs, signal };
    const answer = await sendOnce(requestOf(`read${nameOf(step)}`, {}, input, settings), settings);
    const outcome = outcomeOf<Prediction | undefined>(answer, settings);
    return { ...outcome, state: outcome.data };
  };

  return {
    /** The models of each step with their controls, to build a form from. An administrator can change them at any time. */
    models: async (options: CallOptions = {}): Promise<ModelList> =>
      (await operate("listModels", {}, options, settings)).data,

    /**
     * Starts a step. A repetition with the same idempotencyKey returns the same prediction and costs nothing. With `count` it starts
     * several takes, and `predictions` of the first has them all.
     */
    generate: async <S extends Step>(
      step: S,
      json: StepBody[S],
      { wait, ...options }: StartOptions & HoldOptions = {},
    ): Promise<StartedPrediction> => {
      const id = `start${nameOf(step)}` as const;
      return remember(await operate(id, {}, { ...options, ...hold(wait), json }, settings));
    },

    /** The price of generate with the same body. Starts nothing, and throws the errors of generate. `quote`: for startQuote. */
    estimate: async <S extends Step>(
      step: S,
      json: StepBody[S],
      { quote, ...options }: CallOptions & { quote?: boolean | undefined } = {},
    ): Promise<Estimate> => {
      const id = `estimate${nameOf(step)}` as const;
      const query = { quote: quote ? "true" : undefined };
      return (await operate(id, {}, { ...options, json, query }, settings)).data;
    },

    /** Starts exactly what an estimate with `quote` was for, at its price. A repetition returns the same prediction and costs nothing. */
    startQuote: async (
      { quoteId, atMostMicros }: Pick<Estimate, "quoteId" | "atMostMicros">,
      { wait, ...options }: CallOptions & HoldOptions = {},
    ): Promise<StartedPrediction> => {
      if (quoteId === null || atMostMicros === null)
        throw new TypeError("The estimate has no quote. Request it with `quote`.");
      const json = { quoteId, atMostMicros };
      return remember(await operate("startQuote", {}, { ...options, ...hold(wait), json }, settings));
    },

    /** The cost of your predictions from one day to another (`2026-03-01`, in UTC), by default this month by day; and your budgets. */
    usage: async (
      query: { from?: string | undefined; to?: string | undefined; groupBy?: UsageGroup | undefined } = {},
      options: CallOptions = {},
    ): Promise<Usage> => (await operate("readUsage", {}, { ...options, query }, settings)).data,

    /**
     * Adds credit to the user's prepaid balance, or takes it away (refund, expiry). Only for a server (secretKey, userId). The same
     * `key`, such as the id of a payment, adds nothing again.
     */
    addCredit: async (json: BodyOf<"addCredit">, options: CallOptions = {}): Promise<Credit> =>
      (await operate("addCredit", {}, { ...options, json }, settings)).data,

    /** Without predictionId: the latest prediction of the step. A failed generation does not throw: check `status`. */
    readPrediction: async (
      { projectId, step, predictionId }: Omit<PredictionRef, "predictionId"> & { predictionId?: string | undefined },
      { wait, ...options }: CallOptions & HoldOptions = {},
    ): Promise<Prediction> => {
      const input = { ...options, ...hold(wait), query: { projectId, predictionId } };
      return remember(await operate(`read${nameOf(step)}`, {}, input, settings));
    },

    /** May be repeated. Throws `generation_ended` when the prediction succeeded or failed. */
    cancel: async (
      { projectId, predictionId }: Pick<Prediction, "projectId" | "predictionId">,
      options: StartOptions = {},
    ): Promise<Prediction> =>
      remember(await operate("cancelPrediction", {}, { ...options, json: { projectId, predictionId } }, settings)),

    /**
     * Resolves with the prediction when it has ended. `failed` and `canceled` do not throw; mustSucceed does. Takes the result of
     * generate, or `{ projectId, step, predictionId }`. Throws a KeyframeError when the service refuses or is away for minutes, with
     * code `timeout` after timeoutMs.
     */
    waitFor: (prediction: Prediction | PredictionRef, options: WaitOptions = {}): Promise<Prediction> => {
      const isRead = "status" in prediction;
      const wait = {
        name: prediction.step,
        // What a film has of a prediction is not all of it.
        known: isRead && "elements" in prediction.input ? prediction : undefined,
        first: isRead ? pollHeaders.get(prediction) : undefined,
        poll: (look: PollOptions) => poll(prediction, look),
        hasEnded,
        changeOf,
      };
      return waitFor(wait, options, settings);
    },
  };
}
