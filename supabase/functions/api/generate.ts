import { z } from "zod";
import type { Step } from "../../../shared/contract/fields.ts";
import {
  cancelPredictionBody,
  readPredictionQuery,
  startFirstFrameBody,
  startLastFrameBody,
  startVideoBody,
} from "../../../shared/contract/predictions.ts";
import { madeHeaders, madeOnce } from "./answer-headers.ts";
import type { Needs, UserCall, UserHandler } from "./call.ts";
import { readIdempotency } from "./idempotency.ts";
import { mapPrediction, type PredictionRow, predictionRow } from "./map-prediction.ts";
import { readJson } from "./request-body.ts";
import { noQuery, readQuery } from "./request-query.ts";
import type { Answer } from "./respond.ts";

/** What each step takes; a field that a step lacks is refused by its schema, so all fit this shape. */
type StartBody = z.infer<typeof startLastFrameBody> & z.infer<typeof startVideoBody>;
const START_BODY: Record<Step, z.ZodType<StartBody>> = {
  "first-frame": startFirstFrameBody,
  "last-frame": startLastFrameBody,
  video: startVideoBody,
};

const read = z.object({ prediction: predictionRow });
const started = madeOnce.extend({ prediction: predictionRow });

/** POST /api/projects/generate/:step → 202 with the prediction; Location is where to poll it. */
export const startPrediction =
  (step: Step): UserHandler =>
  async (call, needs) => {
    const { request, url, session } = call;
    readQuery(url, noQuery);
    const body = await readJson(request, START_BODY[step]);
    const args = {
      project_id: body.projectId,
      step,
      prompt: body.prompt,
      reference_image_path: body.referenceImagePath,
      first_frame_prediction_id: body.firstFramePredictionId,
      last_frame_prediction_id: body.lastFramePredictionId,
      duration_seconds: body.durationSeconds,
      ...(await readIdempotency(request, url.pathname, body)),
    };
    const { prediction, ...made } = await needs.database("start_prediction", args, session.token, started);
    const query = new URLSearchParams({ projectId: prediction.project_id, predictionId: prediction.id });
    const location = `/functions/v1/api/projects/generate/${step}?${query}`;
    const { headers, ...answer } = await answerWith(202, prediction, call, needs);
    return { ...answer, headers: { ...headers, ...madeHeaders(made), Location: location } };
  };

/** GET /api/projects/generate/:step → 200 with the prediction, also when the generation failed. Never asks the provider. */
export const readPrediction =
  (step: Step): UserHandler =>
  async (call, needs) => {
    const query = readQuery(call.url, readPredictionQuery);
    const args = { project_id: query.projectId, step, prediction_id: query.predictionId };
    const { prediction } = await needs.database("read_prediction", args, call.session.token, read);
    return answerWith(200, prediction, call, needs);
  };

/** POST /api/projects/generate/cancel → 200 with the prediction. Repeating it is no error, so it needs no Idempotency-Key. */
export async function cancelPrediction(call: UserCall, needs: Needs): Promise<Answer> {
  readQuery(call.url, noQuery);
  const body = await readJson(call.request, cancelPredictionBody);
  await readIdempotency(call.request, call.url.pathname, body); // a malformed key is refused here too
  const args = { project_id: body.projectId, prediction_id: body.predictionId };
  const { prediction } = await needs.database("cancel_prediction", args, call.session.token, read);
  return answerWith(200, prediction, call, needs);
}

/** A replayed start may find its prediction succeeded, so every answer signs the output where there is one. */
async function answerWith(
  status: 200 | 202,
  row: PredictionRow,
  { session }: UserCall,
  { storage }: Needs,
): Promise<Answer> {
  const file = row.status === "succeeded" ? await storage.signGenerated(row.output_path, session.token) : undefined;
  const poll = row.step === "video" ? "2" : "1";
  return { status, data: mapPrediction(row, file), headers: row.completed_at === null ? { "Retry-After": poll } : {} };
}
