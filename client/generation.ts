import type { Step } from "../shared/contract/fields.ts";
import type { BodyInput } from "../shared/contract/operations/index.ts";
import type { Prediction } from "../shared/contract/predictions.ts";
import { type CallOptions, type Outcome, operate, outcomeOf, requestOf, type StartOptions } from "./operate.ts";
import { sendOnce } from "./send-once.ts";
import type { Settings } from "./settings.ts";
import { type Look, type PredictionRef, type Told, type WaitOptions, waitFor } from "./wait-for.ts";

/** What each step takes. */
export type StepBody = {
  "first-frame": BodyInput<"startFirstFrame">;
  "last-frame": BodyInput<"startLastFrame">;
  video: BodyInput<"startVideo">;
};

/** Seconds that the service holds its answer, 1 to 25: a start until the prediction has ended, a read until its status changes. */
export type HoldOptions = { wait?: number | undefined };

type StartId = "startFirstFrame" | "startLastFrame" | "startVideo";
const START: Record<Step, StartId> = {
  "first-frame": "startFirstFrame",
  "last-frame": "startLastFrame",
  video: "startVideo",
};

type ReadId = "readFirstFrame" | "readLastFrame" | "readVideo";
const READ: Record<Step, ReadId> = {
  "first-frame": "readFirstFrame",
  "last-frame": "readLastFrame",
  video: "readVideo",
};

export function generationMethods(settings: Settings) {
  /** What the answer with a prediction told of asking again. Kept beside it, for the prediction is the caller's. */
  const told = new WeakMap<Prediction, Told>();
  const remember = ({ data, etag, retryAfterSeconds }: Outcome<Prediction>): Prediction => {
    told.set(data, { etag, retryAfterSeconds });
    return data;
  };
  const hold = (wait: number | undefined) => {
    if (wait === undefined) return {};
    if (!Number.isInteger(wait) || wait < 1 || wait > 25) throw new TypeError("wait must be 1 to 25 whole seconds.");
    return { headers: { prefer: `wait=${wait}` }, limitMs: settings.requestTimeoutMs + wait * 1000 };
  };

  /** One look, without retries: waitFor has its own. */
  const look: Look = async ({ projectId, step, predictionId }, { etag, wait, limitMs, signal }) => {
    const held = hold(wait);
    const headers = { ...held.headers, ...(etag === null ? {} : { "if-none-match": etag }) };
    const input = { query: { projectId, predictionId }, headers, limitMs: limitMs + (wait ?? 0) * 1000, signal };
    const answer = await sendOnce(requestOf(READ[step], {}, input, settings), settings);
    const outcome = outcomeOf<Prediction | undefined>(answer, settings);
    return { ...outcome, prediction: outcome.data };
  };

  return {
    /** Starts a step. Repeated with the same idempotencyKey, it answers with the same prediction and costs nothing. */
    generate: async <S extends Step>(
      step: S,
      json: StepBody[S],
      { wait, ...options }: StartOptions & HoldOptions = {},
    ): Promise<Prediction> => {
      const id: StartId = START[step];
      return remember(await operate(id, {}, { ...options, ...hold(wait), json }, settings));
    },

    /** Without predictionId: the latest run of the step. A generation that failed is no failed call: look at `status`. */
    readPrediction: async (
      { projectId, step, predictionId }: Omit<PredictionRef, "predictionId"> & { predictionId?: string | undefined },
      { wait, ...options }: CallOptions & HoldOptions = {},
    ): Promise<Prediction> => {
      const input = { ...options, ...hold(wait), query: { projectId, predictionId } };
      return remember(await operate(READ[step], {}, input, settings));
    },

    /** Cancelling what is cancelled already is no error; what has ended otherwise is `generation_ended`. */
    cancel: async (
      { projectId, predictionId }: Pick<Prediction, "projectId" | "predictionId">,
      options: StartOptions = {},
    ): Promise<Prediction> =>
      remember(await operate("cancelPrediction", {}, { ...options, json: { projectId, predictionId } }, settings)),

    /**
     * Resolves with the prediction once it has ended, whichever way: `failed` and `canceled` do not throw (mustSucceed makes
     * them). Takes what generate answered, or `{ projectId, step, predictionId }` of a run somebody else started. Throws a
     * KeyframeError where the service refuses, or stays away for minutes, and with code `timeout` after timeoutMs.
     */
    waitFor: (prediction: Prediction | PredictionRef, options: WaitOptions = {}): Promise<Prediction> =>
      waitFor(prediction, "status" in prediction ? told.get(prediction) : undefined, options, look, settings),
  };
}
