import { hasEnded } from "./endings.ts";
import { type Api, type CallOptions, eachRow, type Outcome, type StartOptions } from "./operate.ts";
import { nameOf } from "./routes.ts";
import type { BodyOf, Estimate, Prediction, QueryOf, Step } from "./types.ts";
import { makeUpright } from "./upright.ts";
import { type PollHeaders, type PollOptions, type PredictionRef, type WaitOptions, waitFor } from "./wait-for.ts";

/** Time for 10 MiB over a slow line. */
const UPLOAD_LIMIT_MS = 5 * 60_000;

type Ref = Pick<Prediction, "projectId" | "predictionId">;

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

export function generationMethods({ settings, call, operate, operateOnce }: Api) {
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

  /** Polls without retries, because waitFor retries. */
  const poll = async (
    { projectId, step, predictionId }: PredictionRef,
    { etag, wait, limitMs, signal }: PollOptions,
  ): Promise<Outcome<Prediction | undefined>> => {
    const headers = { ...hold(wait).headers, ...(etag === null ? {} : { "if-none-match": etag }) };
    return operateOnce(`read${nameOf(step)}`, {}, { query: { projectId, predictionId }, headers, limitMs, signal });
  };

  const list = (projectId: string, query: QueryOf<"listPredictions"> = {}, options: CallOptions = {}) =>
    call("listPredictions", { projectId }, { ...options, query });

  return {
    /** The models of each step with their controls, to build a form from. An administrator can change them at any time. */
    models: (options: CallOptions = {}) => call("listModels", {}, options),

    /**
     * Starts a step. A repetition with the same idempotencyKey returns the same prediction and costs nothing. With `count` it starts
     * several takes, and `predictions` of the first has them all.
     */
    generate: async <S extends Step>(
      step: S,
      json: StepBody[S],
      { wait, ...options }: StartOptions & HoldOptions = {},
    ) => remember(await operate(`start${nameOf(step)}`, {}, { ...options, ...hold(wait), json })),

    /** The price of generate with the same body. Starts nothing, and throws the errors of generate. With `quote`, startQuote can start it. */
    estimate: async <S extends Step>(
      step: S,
      json: StepBody[S],
      { quote, ...options }: CallOptions & { quote?: boolean | undefined } = {},
    ) => call(`estimate${nameOf(step)}`, {}, { ...options, json, query: { quote: quote ? "true" : undefined } }),

    /** Starts exactly what an estimate with `quote` was for, at its price. A repetition returns the same prediction and costs nothing. */
    startQuote: async (
      { quoteId, atMostMicros }: Pick<Estimate, "quoteId" | "atMostMicros">,
      { wait, ...options }: CallOptions & HoldOptions = {},
    ) => {
      if (quoteId === null || atMostMicros === null)
        throw new TypeError("The estimate has no quote. Request it with `quote`.");
      const json = { quoteId, atMostMicros };
      return remember(await operate("startQuote", {}, { ...options, ...hold(wait), json }));
    },

    /** The cost of your predictions from one day to another (`2026-03-01`, in UTC), by default this month by day; and your budgets. */
    usage: (query: QueryOf<"readUsage"> = {}, options: CallOptions = {}) =>
      call("readUsage", {}, { ...options, query }),

    /**
     * Adds credit to the user's prepaid balance, or takes it away (refund, expiry). Only for a server (secretKey, userId). A repetition with
     * the same `key`, such as the id of a payment, adds nothing.
     */
    addCredit: (json: BodyOf<"addCredit">, options: CallOptions = {}) => call("addCredit", {}, { ...options, json }),

    /** Cancels a prediction, and may be repeated. Throws `generation_ended` when the prediction succeeded or failed. */
    cancel: async ({ projectId, predictionId }: Ref, options: StartOptions = {}) =>
      remember(await operate("cancelPrediction", {}, { ...options, json: { projectId, predictionId } })),

    /**
     * Resolves with the prediction when it has ended. `failed` and `canceled` do not throw; mustSucceed does. Takes the result of generate,
     * or `{ projectId, step, predictionId }`. Throws a KeyframeError when the service refuses or is down for minutes, with code `timeout`
     * after timeoutMs.
     */
    waitFor: (prediction: Prediction | PredictionRef, options: WaitOptions = {}): Promise<Prediction> => {
      const isRead = "status" in prediction;
      const wait = {
        name: prediction.step,
        // A film's prediction is incomplete: its input has no elements.
        known: isRead && "elements" in prediction.input ? prediction : undefined,
        first: isRead ? pollHeaders.get(prediction) : undefined,
        poll: (look: PollOptions) => poll(prediction, look),
        hasEnded,
        changeOf,
      };
      return waitFor(wait, options, settings);
    },

    /**
     * Uploads a PNG, JPEG or WebP of at most 10 MiB; the bytes decide the type. Metadata, such as a photo's location, is removed. A photo
     * that its Exif data turn is sent upright. Outside browsers it is not, and the service refuses it.
     */
    uploadReferenceImage: async (image: Blob | Uint8Array | ArrayBuffer, options: StartOptions = {}) => {
      // The type of a body excludes a SharedArrayBuffer.
      const bytes = await makeUpright(image as Blob | Uint8Array<ArrayBuffer> | ArrayBuffer);
      return await call("uploadReferenceImage", {}, { ...options, bytes, limitMs: UPLOAD_LIMIT_MS });
    },

    /** A prediction is one run of one step. */
    predictions: {
      /** One page of a project's predictions, newest first. */
      list,

      each: (projectId: string, query: QueryOf<"listPredictions"> = {}, options: CallOptions = {}) =>
        eachRow(
          (...args) => list(projectId, ...args),
          (page) => page.predictions,
          query,
          options,
        ),

      /** Reads a prediction; without predictionId, the step's latest. A failed generation does not throw: check `status`. */
      read: async (
        { projectId, step, predictionId }: Omit<PredictionRef, "predictionId"> & { predictionId?: string | undefined },
        { wait, ...options }: CallOptions & HoldOptions = {},
      ) => {
        const input = { ...options, ...hold(wait), query: { projectId, predictionId } };
        return remember(await operate(`read${nameOf(step)}`, {}, input));
      },

      /** Hides a prediction from lists, or shows it again. */
      setHidden: async ({ projectId, predictionId }: Ref, hidden: boolean, options: CallOptions = {}) =>
        call("changePrediction", { projectId, predictionId }, { ...options, json: { hidden } }),

      /** Stores the end image of a video (`lastFrameOf`, uploaded). Shots that wait to continue the video then start. */
      storeEndImage: async ({ projectId, predictionId }: Ref, endImagePath: string | null, options: CallOptions = {}) =>
        call("changePrediction", { projectId, predictionId }, { ...options, json: { endImagePath } }),

      /** Deletes a prediction and its file for good. Throws `generation_in_progress` while it runs or a running generation uses it. */
      delete: async ({ projectId, predictionId }: Ref, options: CallOptions = {}) =>
        call("deletePrediction", { projectId, predictionId }, options),
    },
  };
}
