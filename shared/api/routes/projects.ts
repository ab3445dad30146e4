import { z } from "zod";
import { answerBase } from "../data/database.ts";
import { fromRow, position, toRow } from "../data/rows.ts";
import { mapPrediction, outputPaths, predictionRow } from "../data/map-prediction.ts";
import { mapProject, mapSteps, projectFields, projectRow, stepRows } from "../data/map-project.ts";
import { cutPage, pageArguments } from "../http/cursor.ts";
import { answerHeaders, readVersions, versioned } from "../http/respond.ts";
import type { Handler } from "./handler.ts";

const projectAnswer = answerBase.extend({ project: projectRow });
const wholeProjectAnswer = projectAnswer.extend({ predictions: stepRows });

export const createProject: Handler<"createProject"> = async ({ body, idempotency, caller }, { database }) => {
  const args = { ...toRow(body), ...idempotency };
  const answer = await database.call("create_project", args, caller, projectAnswer);
  return versioned(mapProject(answer.project), answer);
};

export const readProject: Handler<"readProject"> = async (call, { database, storage }) => {
  const args = { project_id: call.path("projectId") };
  const answer = await database.read("read_project", args, call.caller, wholeProjectAnswer);
  const { project, predictions } = answer;
  const files = await storage.signGenerated(outputPaths(predictions.map(({ prediction }) => prediction)), call.caller);
  return versioned({ ...mapProject(project), ...mapSteps(predictions, files) }, answer);
};

export const changeProject: Handler<"changeProject"> = async ({ path, body, caller, headers }, { database }) => {
  const { selected, ...fields } = body;
  const changes = {
    ...toRow(fields),
    selected_first_frame_id: selected?.["first-frame"],
    selected_last_frame_id: selected?.["last-frame"],
    selected_video_id: selected?.video,
  };
  const args = { project_id: path("projectId"), changes, versions: readVersions(headers.get("if-match")) };
  const answer = await database.call("update_project", args, caller, projectAnswer);
  return versioned(mapProject(answer.project), answer);
};

export const deleteProject: Handler<"deleteProject"> = async ({ path, caller, headers }, { database }) => {
  const args = { project_id: path("projectId"), versions: readVersions(headers.get("if-match")) };
  const answer = await database.call("delete_project", args, caller, projectAnswer);
  return { data: mapProject(answer.project), headers: answerHeaders(answer) };
};

const projectsAnswer = answerBase.extend({
  projects: z.array(fromRow(projectFields.extend({ predictions: stepRows.optional() }))),
  searched_until: z.object(position).nullish(),
});
const predictionsAnswer = answerBase.extend({ predictions: z.array(predictionRow) });

export const listProjects: Handler<"listProjects"> = async (call, { database, storage }) => {
  const { query, caller } = call;
  const args = { ...pageArguments(query), with_predictions: query.include === "predictions", search: query.search };
  const answer = await database.read("list_projects", args, caller, projectsAnswer);
  const { rows, nextCursor } = cutPage(answer.projects, query.limit, answer.searched_until);
  const included = rows.flatMap(({ predictions = [] }) => predictions.map(({ prediction }) => prediction));
  const files = await storage.signGenerated(outputPaths(included), call.caller);
  const listed = rows.map(({ predictions, ...row }) => ({
    ...mapProject(row),
    ...(predictions && mapSteps(predictions, files)),
  }));
  return { data: { projects: listed, nextCursor }, headers: answerHeaders(answer) };
};

export const listPredictions: Handler<"listPredictions"> = async (call, { database, storage }) => {
  const { path, query, caller } = call;
  const flags = { only_takes: query.status === "succeeded", with_hidden: query.hidden === "true" };
  const args = { project_id: path("projectId"), step: query.step, ...flags, ...pageArguments(query) };
  const answer = await database.read("list_predictions", args, caller, predictionsAnswer);
  const { rows, nextCursor } = cutPage(answer.predictions, query.limit);
  const files = await storage.signGenerated(outputPaths(rows), call.caller);
  const listed = rows.map((row) => mapPrediction(row, files));
  return { data: { predictions: listed, nextCursor }, headers: answerHeaders(answer) };
};
