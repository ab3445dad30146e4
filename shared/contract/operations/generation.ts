import {
  cancelPredictionBody,
  prediction,
  readPredictionQuery,
  startFirstFrameBody,
  startLastFrameBody,
  startVideoBody,
  stepPath,
} from "../predictions.ts";
import { SAMPLE } from "../samples.ts";
import type { Operation } from "./operation.ts";

const { projectId, firstFrameId, lastFrameId, videoId, referenceImagePath } = SAMPLE;

/** What all starts have in common. */
const start = {
  method: "POST",
  tag: "Generation",
  caller: "session",
  status: 202,
  answer: prediction,
  tagged: true,
  waits: true,
} as const;

export const generationOperations = {
  startFirstFrame: {
    ...start,
    at: "/projects/generate/first-frame",
    summary: "Generate a first frame",
    body: startFirstFrameBody,
    errors: ["not_found", "unsupported_input"],
    examples: [
      { summary: "From the project's prompt", body: { projectId } },
      {
        summary: "In the look of a reference image",
        body: { projectId, referenceImagePath, prompt: "The harbour from above, at dawn" },
      },
    ],
  },
  startLastFrame: {
    ...start,
    at: "/projects/generate/last-frame",
    summary: "Generate a last frame",
    description: "The first frame, when there is one, is a reference too, so that the look stays.",
    body: startLastFrameBody,
    errors: ["not_found", "frame_not_ready", "unsupported_input"],
    examples: [
      {
        summary: "Where the film ends",
        body: { projectId, prompt: "The same harbour at night", firstFramePredictionId: firstFrameId },
      },
      { summary: "With all that is there", body: { projectId } },
    ],
  },
  startVideo: {
    ...start,
    at: "/projects/generate/video",
    summary: "Generate the video between the frames",
    body: startVideoBody,
    errors: ["not_found", "frame_not_ready", "unsupported_input"],
    examples: [
      { summary: "From the latest frames", body: { projectId, durationSeconds: 5 } },
      {
        summary: "From frames of your choice",
        body: { projectId, firstFramePredictionId: firstFrameId, lastFramePredictionId: lastFrameId },
      },
    ],
  },
  readPrediction: {
    method: "GET",
    at: "/projects/generate/:step",
    tag: "Generation",
    summary: "Read how a prediction stands",
    description:
      "A generation that failed is a successful read: `data.status` is `failed` and `data.error` says why. While it runs, `Retry-After` tells how soon to ask again; `Prefer: wait=N` holds the answer until the status changes.",
    caller: "session",
    path: stepPath,
    query: readPredictionQuery,
    status: 200,
    answer: prediction,
    tagged: true,
    waits: true,
    errors: ["not_found"],
    examples: [
      { summary: "One prediction", path: { step: "first-frame" }, query: { projectId, predictionId: firstFrameId } },
      { summary: "The latest run of a step", path: { step: "video" }, query: { projectId } },
    ],
  },
  cancelPrediction: {
    method: "POST",
    at: "/projects/generate/cancel",
    tag: "Generation",
    summary: "Cancel a prediction",
    description: "Here at once, at the provider soon after. Cancelling what is cancelled already is no error.",
    caller: "session",
    body: cancelPredictionBody,
    status: 200,
    answer: prediction,
    tagged: true,
    errors: ["not_found", "generation_ended"],
    examples: [{ summary: "No longer wanted", body: { projectId, predictionId: videoId } }],
  },
} as const satisfies Record<string, Operation>;
