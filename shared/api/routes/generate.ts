import { z } from "zod";
import { modelList } from "../../contract/controls.ts";
import { credit, estimate, usage } from "../../contract/costs.ts";
import type { Step } from "../../contract/fields.ts";
import type { AnswerOf } from "../../contract/operations/index.ts";
import type { Prediction } from "../../contract/predictions.ts";
import { describeError } from "../../platform/log.ts";
import type { Caller } from "../auth/verify-session.ts";
import { answerBase } from "../data/database.ts";
import { toRow } from "../data/rows.ts";
import { mapPrediction, outputPaths, predictionRow, wireStatus } from "../data/map-prediction.ts";
import { holdAnswer, readWait } from "../http/hold-answer.ts";
import type { Call } from "../http/read-call.ts";
import { type Answer, answerHeaders, isCurrent, type KnownTag, readTag, tagOf } from "../http/respond.ts";
import type { Deps, Handler } from "./handler.ts";

const models = answerBase.extend(modelList.shape);
const estimated = answerBase.extend({ estimate });
const used = answerBase.extend(usage.shape);
const credited = answerBase.extend({ credit });
const read = answerBase.extend({ prediction: predictionRow });
type Read = z.infer<typeof read>;
const startedRows = read.extend({ predictions: z.array(predictionRow).nullish() });

type StartId = "startFirstFrame" | "startLastFrame" | "startVideo";
type EstimateId = "estimateFirstFrame" | "estimateLastFrame" | "estimateVideo";
type ReadId = "readFirstFrame" | "readLastFrame" | "readVideo";
type Waiting = Pick<Call<StartId>, "caller" | "headers" | "signal">;

const startPrediction =
  (step: Step): Handler<StartId> =>
  async (call, deps) => {
    const { projectId, model, count, ...input } = call.body;
    const args = { project_id: projectId, step, input, model, count, ...call.idempotency };
    return answerStart(await deps.database.call("start_prediction", args, call.caller, startedRows), call, deps);
  };

export const startFirstFrame = startPrediction("first-frame");
export const startLastFrame = startPrediction("last-frame");
export const startVideo = startPrediction("video");

export const startQuote: Handler<"startQuote"> = async (call, deps) => {
  return answerStart(await deps.database.call("start_quote", toRow(call.body), call.caller, startedRows), call, deps);
};

async function answerStart(
  started: z.infer<typeof startedRows>,
  call: Waiting,
  deps: Deps,
): Promise<Answer<AnswerOf<StartId>>> {
  const { id, projectId, step } = started.prediction;
  // The prediction exists and will be charged. Even if something fails from here on, the answer must say that it was started.
  const fallBackToStarted = (error: unknown) => {
    deps.log.warn("start_answered_early", { predictionId: id, reason: describeError(error) });
    return { answer: started, waited: {} };
  };
  const hasEnded = ({ prediction }: Read) => prediction.completedAt !== null;
  const { answer, waited } = await hold(started, call, deps, hasEnded).catch(fallBackToStarted);
  const query = new URLSearchParams({ projectId, predictionId: id });
  const Location = `${step}?${query}`; // relative to the URL of the start, so that it fits any function name
  // The headers give the rate limit and key of this request, not of the reads during the wait.
  const headers = { ...answerHeaders(started), ...waited, Location };
  const first = await answerWith(answer.prediction, headers, call.caller, deps).catch((error) => {
    if (hasEnded(started)) throw error; // the request can be repeated
    return answerWith(fallBackToStarted(error).answer.prediction, headers, call.caller, deps);
  });
  if (started.predictions == null || first.data === undefined) return first;
  const others = started.predictions.slice(1);
  const files = await deps.storage.signGenerated(outputPaths(others), call.caller); // only a repeated request can have outputs here
  const predictions = [first.data, ...others.map((row) => mapPrediction(row, files))];
  return { ...first, data: { ...first.data, predictions } };
}

const estimatePrediction =
  (step: Step): Handler<EstimateId> =>
  async ({ query, body, caller }, { database }) => {
    const { projectId, model, count, ...input } = body;
    const args = { project_id: projectId, step, input, model, count, quote: query.quote === "true" };
    const answer = await database.read("estimate_prediction", args, caller, estimated);
    return { data: answer.estimate, headers: answerHeaders(answer) };
  };

export const estimateFirstFrame = estimatePrediction("first-frame");
export const estimateLastFrame = estimatePrediction("last-frame");
export const estimateVideo = estimatePrediction("video");

export const readUsage: Handler<"readUsage"> = async ({ query, caller }, { database }) => {
  const args = { from_day: query.from, to_day: query.to, group_by: query.groupBy };
  const { rate, ...answer } = await database.read("read_usage", args, caller, used);
  return { data: answer, headers: answerHeaders({ rate }) };
};

/** Calls with the secret key itself: no user may add credit. */
export const addCredit: Handler<"addCredit"> = async ({ body, caller: { ownerId, token } }, { database }) => {
  const args = { user_id: ownerId, ...toRow(body) };
  const answer = await database.call("add_credit", args, { ownerId, token }, credited, "keyframe_worker");
  return { data: answer.credit, headers: answerHeaders(answer) };
};

const readPrediction =
  (step: Step): Handler<ReadId> =>
  async (call, deps) => {
    const known = readTag(call.headers.get("if-none-match"));
    const args = { ...toRow(call.query), step };
    const found = await deps.database.read("read_prediction", args, call.caller, read);
    const before = known?.status ?? wireStatus(found.prediction);
    // The latest prediction can differ from the caller's copy.
    const isAnother = known !== undefined && !known.state.startsWith(found.prediction.id);
    const isDone = ({ prediction }: Read) =>
      isAnother || prediction.completedAt !== null || wireStatus(prediction) !== before;
    const { answer, waited } = await hold(found, call, deps, isDone);
    return answerWith(answer.prediction, { ...answerHeaders(answer), ...waited }, call.caller, deps, known);
  };

export const readFirstFrame = readPrediction("first-frame");
export const readLastFrame = readPrediction("last-frame");
export const readVideo = readPrediction("video");

export const listModels: Handler<"listModels"> = async ({ caller }, { database }) => {
  const answer = await database.read("list_models", {}, caller, models);
  return { data: { steps: answer.steps }, headers: answerHeaders(answer) };
};

export const cancelPrediction: Handler<"cancelPrediction"> = async (call, deps) => {
  const args = { ...toRow(call.body), ...call.idempotency };
  const answer = await deps.database.call("cancel_prediction", args, call.caller, read);
  return answerWith(answer.prediction, answerHeaders(answer), call.caller, deps);
};

const predictionOf = ({ path }: Pick<Call<"changePrediction">, "path">) => ({
  project_id: path("projectId"),
  prediction_id: path("predictionId"),
});

export const changePrediction: Handler<"changePrediction"> = async (call, deps) => {
  const args = { ...predictionOf(call), changes: toRow(call.body) };
  const answer = await deps.database.call("update_prediction", args, call.caller, read);
  return answerWith(answer.prediction, answerHeaders(answer), call.caller, deps);
};

export const deletePrediction: Handler<"deletePrediction"> = async (call, { database }) => {
  const answer = await database.call("delete_prediction", predictionOf(call), call.caller, read);
  return { data: mapPrediction(answer.prediction, new Map()), headers: answerHeaders(answer) };
};

/** Holds the answer for the seconds of Prefer: wait, or until `isDone`. */
async function hold(
  first: Read,
  call: Waiting,
  deps: Deps,
  isDone: (state: Read) => boolean,
): Promise<{ answer: Read; waited: Record<string, string> }> {
  const seconds = readWait(call.headers.get("prefer"));
  if (seconds === 0) return { answer: first, waited: {} };
  const { caller, signal } = call;
  const { id, projectId, step } = first.prediction;
  const again = { project_id: projectId, step, prediction_id: id, waiting: true };
  const readAgain = () => deps.database.read("read_prediction", again, caller, read);
  const answer = await holdAnswer(first, { seconds, readAgain, isDone, signal }, deps);
  return { answer, waited: { "Preference-Applied": `wait=${seconds}` } };
}

/** Answers 304 when the caller's copy is current; otherwise signs the output, if there is one. */
async function answerWith(
  row: Read["prediction"],
  headers: Record<string, string>,
  caller: Caller,
  { storage, now }: Deps,
  known?: KnownTag,
): Promise<Answer<Prediction>> {
  const poll: Record<string, string> =
    row.completedAt === null ? { "Retry-After": row.step === "video" ? "2" : "1" } : {};
  if (known && isCurrent(known, row, now())) {
    return { data: undefined, headers: { ...headers, ...poll, ETag: known.tag } };
  }
  const files = await storage.signGenerated(outputPaths([row]), caller);
  const ETag = tagOf(row, [...files.values()][0]);
  return { data: mapPrediction(row, files), headers: { ...headers, ...poll, ETag } };
}
