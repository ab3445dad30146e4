import { modelList } from "../controls.ts";
import { addCreditBody, credit, estimate, estimateQuery, startQuoteBody, usage, usageQuery } from "../costs.ts";
import {
  cancelPredictionBody,
  prediction,
  readPredictionQuery,
  startedPrediction,
  startFirstFrameBody,
  startLastFrameBody,
  startVideoBody,
} from "../predictions.ts";
import { SAMPLE } from "../samples.ts";
import type { Operation } from "./operation.ts";

const { projectId, firstFrameId, lastFrameId, videoId, quoteId, referenceImagePath } = SAMPLE;

const PAID =
  "\n\nThe provider charges for it; a request answered with 4xx starts nothing. The response arrives before the generation ends (with `Prefer: wait=N` the service waits up to 25 seconds for the end): poll the address in `Location`, or receive `generation.succeeded` or `generation.failed` by webhook. When too many of your predictions are running, this one waits, and `queuePosition` is its position in the queue." +
  "\n\nAfter a timeout or a 5xx, repeat the request with the same `Idempotency-Key`: nothing is charged twice. When the prediction fails, `cost.state` says whether it was charged (`settled`), not charged (`released`), or whether that is not known yet (`unknown`). Read `error.retryable` before you start the step again: each start can be charged." +
  "\n\nAn input that the model would ignore or refuse fails with `unsupported_input`, before any charge: `message` names the value, what the model accepts, and the models that accept it. `GET /api/models` lists what each model accepts. `model_unavailable` means that the model you named is no longer available: choose another, or name none." +
  "\n\nIf there is a budget, a start reserves the upper bound of its cost (`cost` in the answer) until it ends. `budget_exceeded` means that less than that is left; `budget` has the figures. `balance_exhausted` says the same of a prepaid balance, and `balance` has the figures." +
  "\n\nWith `count` it starts several takes: all or none. The answer is the first, and `predictions` has them all. Each take counts as one start for the rate limit; `Prefer: wait` waits for the first.";

export const OVER_BUDGET = ["budget_exceeded", "balance_exhausted", "spending_stopped", "price_unknown"] as const;
export const OF_STARTS = ["not_found", "unsupported_input", "model_unavailable", ...OVER_BUDGET] as const;

const start = {
  method: "POST",
  tag: "Generation",
  caller: "session",
  status: 202,
  answer: startedPrediction,
  tagged: true,
  waits: true,
} as const;

/** Pricing has one operation for each step, as the starts do, because the bodies differ. */
const priced = {
  method: "POST",
  tag: "Generation",
  description:
    "Send the body of a start. It is checked like a start and refused with the same errors, except for budgets and balance: `withinBudget` says whether they would allow the start. Nothing is stored, started or charged; it counts as a read.\n\n" +
    "With `quote=true` it holds the price for ten minutes, and fails with every error of the start, budgets and balance included. Start it with `POST /api/projects/generate/quote`. It then counts as a creation.\n\n" +
    "Amounts are in millionths of a dollar. `estimateMicros` is null when no price of the model is known for this input.",
  changesNothing: true,
  caller: "session",
  query: estimateQuery,
  status: 200,
  answer: estimate,
  errors: [...OF_STARTS, "frame_not_ready"],
} as const;

/** Reading has one operation for each step, as the starts do. */
const read = {
  method: "GET",
  tag: "Generation",
  description:
    "Returns the stored state, without a call to the provider and without a charge. A generation that failed is a successful read: `data.status` is `failed` and `data.error` says why.\n\n" +
    "While it runs, wait for the time in `Retry-After` before you read again, and send the last `ETag` in `If-None-Match` to get 304 when nothing has changed. With `Prefer: wait=N` the service waits up to 25 seconds for a change of status. `output.url` ends at `expiresAt`: read again for a new URL.",
  caller: "session",
  query: readPredictionQuery,
  status: 200,
  answer: prediction,
  tagged: true,
  waits: true,
  errors: ["not_found"],
} as const;

export const generationOperations = {
  readUsage: {
    method: "GET",
    at: "/usage",
    tag: "Generation",
    summary: "Read what your predictions cost",
    description:
      "Returns how many predictions you started from one day to another and what they cost, by day, model, step or project, and what is left of your budgets and your balance. Deleted predictions and projects count. Amounts are in millionths of a dollar.",
    caller: "session",
    query: usageQuery,
    status: 200,
    answer: usage,
    examples: [{ summary: "This month by day" }, { summary: "By model", query: { groupBy: "model" } }],
  },
  addCredit: {
    method: "POST",
    at: "/credits",
    tag: "Generation",
    summary: "Add credit to a user's balance",
    description:
      "For a server with the secret key, which names the user in `Keyframe-User`: after a payment, a refund or a dispute. A user who has credit is prepaid: a start that can cost more than the balance is refused with `balance_exhausted`.\n\n" +
      "`key` makes it repeatable for good: the same key adds nothing again, and another amount or kind with it is `idempotency_mismatch`. A refund of more than is left makes the balance negative. Users that are banned, and deleted ones who have credits, are found.",
    happensOnce: true,
    caller: "server",
    body: addCreditBody,
    status: 201,
    answer: credit,
    errors: ["idempotency_mismatch"],
    examples: [
      { summary: "A purchase of ten dollars", body: { key: "pi_3PxT", kind: "purchase", amountMicros: 10_000_000 } },
      { summary: "Its refund", body: { key: "re_3PxT", kind: "refund", amountMicros: -10_000_000 } },
    ],
  },
  listModels: {
    method: "GET",
    at: "/models",
    tag: "Generation",
    summary: "List the models of each step with their controls",
    description:
      "Returns the models of each step in display order, with the values, ranges and defaults of each control: build your form from them. Prices are what you pay. A control has the name of the field of a start that sets it; `firstFrame`, `lastFrame` and `referenceImages` stand for the images. An administrator can change the list at any time.",
    caller: "session",
    status: 200,
    answer: modelList,
    examples: [{ summary: "All steps" }],
  },
  startFirstFrame: {
    ...start,
    at: "/projects/generate/first-frame",
    summary: "Generate a first frame",
    description: `Generates an image from \`prompt\`, or from the project's \`textPrompt\` if you leave it out. Reference images set the look.${PAID}`,
    body: startFirstFrameBody,
    errors: OF_STARTS,
    examples: [
      { summary: "From the project's prompt", body: { projectId } },
      {
        summary: "In the look of a reference image",
        body: { projectId, referenceImagePath, prompt: "The harbour from above, at dawn" },
      },
      { summary: "With an element", body: { projectId, elementIds: [SAMPLE.elementId] } },
    ],
  },
  startLastFrame: {
    ...start,
    at: "/projects/generate/last-frame",
    summary: "Generate a last frame",
    description: `Generates an image from \`prompt\`, or from the project's \`textPrompt\` if you leave it out. The first frame, if there is one, serves as a reference so that both frames look alike. \`firstFramePredictionId: null\` leaves it out. \`frame_not_ready\` means that the first frame you named has not succeeded.${PAID}`,
    body: startLastFrameBody,
    errors: [...OF_STARTS, "frame_not_ready"],
    examples: [
      {
        summary: "With a prompt and a first frame",
        body: { projectId, prompt: "The same harbour at night", firstFramePredictionId: firstFrameId },
      },
      { summary: "From the project's prompt and latest first frame", body: { projectId } },
    ],
  },
  startVideo: {
    ...start,
    at: "/projects/generate/video",
    summary: "Generate the video between the frames",
    description: `Generates a video that starts at the first frame and ends at the last frame, if there is one. By default it uses the project's selected frames, else the latest that succeeded; \`lastFramePredictionId: null\` leaves the last frame out. Each frame can also be from another of your projects, such as the last frame of the previous shot, or an image that you uploaded (\`firstFrameImagePath\`, \`lastFrameImagePath\`). Frames of another aspect ratio than the video are refused with \`unsupported_input\`. \`frame_not_ready\` means that the project has no first frame that succeeded, or that a frame you named has not: \`message\` says which.\n\nWith \`firstFramePredictionId: null\` the video has no first frame: it is made from the prompt and the reference images, if there are any, in the project's aspect ratio. In \`GET /api/models\`, \`firstFrame.required\` says that a model needs a frame, and \`referenceImages.excludes\` that it takes references only without frames.${PAID}`,
    body: startVideoBody,
    errors: [...OF_STARTS, "frame_not_ready"],
    examples: [
      { summary: "From the latest frames", body: { projectId, durationSeconds: 5 } },
      {
        summary: "With a model, a resolution and a length, and without a last frame",
        body: {
          projectId,
          model: "kwaivgi/kling-v2.1",
          resolution: "1080p",
          durationSeconds: 10,
          lastFramePredictionId: null,
        },
      },
      {
        summary: "Without frames, from a reference image",
        body: {
          projectId,
          firstFramePredictionId: null,
          lastFramePredictionId: null,
          referenceImagePaths: [referenceImagePath],
        },
      },
      {
        summary: "From an uploaded image",
        body: { projectId, firstFrameImagePath: referenceImagePath, lastFramePredictionId: null },
      },
      {
        summary: "From frames of your choice",
        body: { projectId, firstFramePredictionId: firstFrameId, lastFramePredictionId: lastFrameId },
      },
    ],
  },
  estimateFirstFrame: {
    ...priced,
    at: "/projects/generate/first-frame/estimate",
    summary: "Estimate the cost of a first frame",
    errors: OF_STARTS,
    body: startFirstFrameBody,
    examples: [
      { summary: "From the project's prompt", body: { projectId } },
      { summary: "With a price that holds for ten minutes", query: { quote: "true" }, body: { projectId } },
    ],
  },
  estimateLastFrame: {
    ...priced,
    at: "/projects/generate/last-frame/estimate",
    summary: "Estimate the cost of a last frame",
    body: startLastFrameBody,
    examples: [{ summary: "From the project's prompt and latest first frame", body: { projectId } }],
  },
  estimateVideo: {
    ...priced,
    at: "/projects/generate/video/estimate",
    summary: "Estimate the cost of a video",
    body: startVideoBody,
    examples: [
      {
        summary: "With a model, a resolution and a length",
        body: { projectId, model: "kwaivgi/kling-v2.1", resolution: "1080p", durationSeconds: 5 },
      },
    ],
  },
  startQuote: {
    ...start,
    at: "/projects/generate/quote",
    summary: "Start what was quoted, at its price",
    description:
      "Starts exactly what the estimate was for, or nothing; with the quote of a film, all its shots, and `predictions` has them. The quote is valid for ten minutes, for one start, and for the user and the app (OAuth client) that requested it. If you repeat the request within a day, the answer is the same prediction and nothing is charged again.\n\n" +
      "`not_found` means that you have no quote with this quoteId, or that it has expired; `precondition_failed` that the price, the model, the prompt, the elements, the frames or the missing shots have changed since. Estimate again. `idempotency_mismatch` means that you used the key `quote:` with this quoteId in another request. Every error of a start is possible too, such as `budget_exceeded` when something else was started meanwhile.",
    happensOnce: true,
    body: startQuoteBody,
    errors: [...OF_STARTS, "frame_not_ready", "precondition_failed", "idempotency_mismatch"],
    examples: [{ summary: "At the price of its estimate", body: { quoteId, atMostMicros: 67_000 } }],
  },
  readFirstFrame: {
    ...read,
    at: "/projects/generate/first-frame",
    summary: "Read a first-frame prediction",
    examples: [{ summary: "One prediction", query: { projectId, predictionId: firstFrameId } }],
  },
  readLastFrame: {
    ...read,
    at: "/projects/generate/last-frame",
    summary: "Read a last-frame prediction",
    examples: [{ summary: "One prediction", query: { projectId, predictionId: lastFrameId } }],
  },
  readVideo: {
    ...read,
    at: "/projects/generate/video",
    summary: "Read a video prediction",
    examples: [
      { summary: "One prediction", query: { projectId, predictionId: videoId } },
      { summary: "The latest prediction", query: { projectId } },
    ],
  },
  cancelPrediction: {
    method: "POST",
    at: "/projects/generate/cancel",
    tag: "Generation",
    summary: "Cancel a prediction",
    description:
      "The prediction is `canceled` at once; the provider run is canceled shortly afterwards. Whether the provider charges for it is in `cost.state` once the run has ended. No event is sent.\n\n" +
      "You can repeat the request. `generation_ended` means that the prediction has already succeeded or failed: read it for the result.",
    caller: "session",
    body: cancelPredictionBody,
    status: 200,
    answer: prediction,
    tagged: true,
    errors: ["not_found", "generation_ended"],
    examples: [{ summary: "Cancel a video", body: { projectId, predictionId: videoId } }],
  },
} as const satisfies Record<string, Operation>;
