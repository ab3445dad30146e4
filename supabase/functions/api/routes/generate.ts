import type { z } from "zod";
import type { Step } from "../../../../shared/contract/fields.ts";
import type { Prediction } from "../../../../shared/contract/predictions.ts";
import { describeError } from "../../../../shared/platform/log.ts";
import { answered, answerHeaders } from "../http/answer-headers.ts";
import type { Answer, Call, Handler, Deps } from "../call.ts";
import { isCurrent, type KnownTag, readTag, tagOf } from "../http/entity-tag.ts";
import { holdAnswer, readWait } from "../http/hold-answer.ts";
import { mapPrediction, outputPaths, predictionRow, wireStatus } from "../rows/map-prediction.ts";

const read = answered.extend({ prediction: predictionRow });
type Read = z.infer<typeof read>;

type Start = "startFirstFrame" | "startLastFrame" | "startVideo";
type Look = "readFirstFrame" | "readLastFrame" | "readVideo";
/** What the steps take altogether; a field that a step lacks is refused by its schema. */
type StartBody = Partial<Call<"startLastFrame">["body"] & Call<"startVideo">["body"]>;

/** POST /api/projects/generate/:step → 202 with the prediction; Location is where to poll it. Prefer: wait holds it to its end. */
export const startPrediction =
  (step: Step): Handler<Start> =>
  async (call, deps) => {
    const body: StartBody = call.body;
    const args = {
      project_id: body.projectId,
      step,
      prompt: body.prompt,
      reference_image_path: body.referenceImagePath,
      first_frame_prediction_id: body.firstFramePredictionId,
      last_frame_prediction_id: body.lastFramePredictionId,
      duration_seconds: body.durationSeconds,
      ...call.idempotency,
    };
    const started = await deps.database("start_prediction", args, call.token, read);
    const { id, project_id } = started.prediction;
    // It is made, and will be paid for. Whatever fails from here on, the answer has to be that it was made.
    const fallBackToStarted = (error: unknown) => {
      deps.log.warn("start_answered_early", { predictionId: id, reason: describeError(error) });
      return { answer: started, waited: {} };
    };
    const hasEnded = (seen: Read) => seen.prediction.completed_at !== null;
    const { answer, waited } = await hold(started, call, deps, hasEnded).catch(fallBackToStarted);
    const query = new URLSearchParams({ projectId: project_id, predictionId: id });
    const Location = `${step}?${query}`; // relative to the address of the start, whatever the function is called
    // What this request did to its own limit and key is told, not what the looks afterwards did.
    const headers = { ...answerHeaders(started), ...waited, Location };
    return answerWith(answer.prediction, headers, call, deps).catch((error) => {
      if (hasEnded(started)) throw error; // the answer to a repeated request, which may be repeated once more
      return answerWith(fallBackToStarted(error).answer.prediction, headers, call, deps);
    });
  };

/** GET /api/projects/generate/:step → 200 with the prediction, also when the generation failed. Never asks the provider. */
export const readPrediction =
  (step: Step): Handler<Look> =>
  async (call, deps) => {
    const { projectId, predictionId } = call.query;
    const known = readTag(call.headers.get("if-none-match"));
    const args = { project_id: projectId, step, prediction_id: predictionId };
    const found = await deps.database("read_prediction", args, call.token, read);
    const before = known?.status ?? wireStatus(found.prediction);
    const isNews = ({ prediction }: Read) => prediction.completed_at !== null || wireStatus(prediction) !== before;
    const { answer, waited } = await hold(found, call, deps, isNews);
    return answerWith(answer.prediction, { ...answerHeaders(answer), ...waited }, call, deps, known);
  };

/** POST /api/projects/generate/cancel → 200 with the prediction. Repeating it is no error. */
export const cancelPrediction: Handler<"cancelPrediction"> = async (call, deps) => {
  const { projectId, predictionId } = call.body;
  const args = { project_id: projectId, prediction_id: predictionId, ...call.idempotency };
  const answer = await deps.database("cancel_prediction", args, call.token, read);
  return answerWith(answer.prediction, answerHeaders(answer), call, deps);
};

/** Holds the answer as long as Prefer: wait asks for, looking at this one prediction, until there is news. */
async function hold(
  first: Read,
  call: Pick<Call<Start>, "token" | "headers" | "signal">,
  deps: Deps,
  isNews: (seen: Read) => boolean,
): Promise<{ answer: Read; waited: Record<string, string> }> {
  const seconds = readWait(call.headers.get("prefer"));
  if (seconds === 0) return { answer: first, waited: {} };
  const { token, signal } = call;
  const { id, project_id, step } = first.prediction;
  const look = () => deps.database("read_prediction", { project_id, step, prediction_id: id }, token, read);
  const answer = await holdAnswer(first, { seconds, look, isNews, signal }, deps);
  return { answer, waited: { "Preference-Applied": `wait=${seconds}` } };
}

/** Signs the output, where there is one and the caller has none that is still good. */
async function answerWith(
  row: Read["prediction"],
  headers: Record<string, string>,
  { token }: Pick<Call<Start>, "token">,
  { storage, now }: Deps,
  known?: KnownTag,
): Promise<Answer<Prediction>> {
  const poll = row.completed_at === null ? { "Retry-After": row.step === "video" ? "2" : "1" } : {};
  if (known && isCurrent(known, row, now())) {
    return { data: undefined, headers: { ...headers, ...poll, ETag: known.tag } };
  }
  const files = await storage.signGenerated(outputPaths([row]), token);
  const ETag = tagOf(row, [...files.values()][0]);
  return { data: mapPrediction(row, files), headers: { ...headers, ...poll, ETag } };
}
