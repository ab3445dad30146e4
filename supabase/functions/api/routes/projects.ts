import { answered, answerHeaders } from "../http/answer-headers.ts";
import type { Handler } from "../call.ts";
import { outputPaths } from "../rows/map-prediction.ts";
import { latestRows, mapLatest, mapProject, projectRow } from "../rows/map-project.ts";

const one = answered.extend({ project: projectRow });
const withLatest = one.extend({ predictions: latestRows });

/** POST /api/projects → 201 with the project. */
export const createProject: Handler<"createProject"> = async ({ body, idempotency, token }, { database }) => {
  const { title, textPrompt, description } = body;
  const args = { title, text_prompt: textPrompt, description, ...idempotency };
  const answer = await database("create_project", args, token, one);
  return { data: mapProject(answer.project), headers: answerHeaders(answer) };
};

/** GET /api/projects/:projectId → 200 with the project and its latest prediction per step. */
export const readProject: Handler<"readProject"> = async ({ path, token }, { database, storage }) => {
  const answer = await database("read_project", { project_id: path("projectId") }, token, withLatest);
  const files = await storage.signGenerated(outputPaths(answer.predictions), token);
  const data = { ...mapProject(answer.project), predictions: mapLatest(answer.predictions, files) };
  return { data, headers: answerHeaders(answer) };
};

/** PATCH /api/projects/:projectId → 200 with the project as it is now. */
export const changeProject: Handler<"changeProject"> = async ({ path, body, token }, { database }) => {
  const { title, textPrompt, description } = body;
  const args = { project_id: path("projectId"), title, text_prompt: textPrompt, description };
  const answer = await database("update_project", args, token, one);
  return { data: mapProject(answer.project), headers: answerHeaders(answer) };
};

/** DELETE /api/projects/:projectId → 200 with the project that is gone; its files follow within moments. */
export const deleteProject: Handler<"deleteProject"> = async ({ path, token }, { database }) => {
  const answer = await database("delete_project", { project_id: path("projectId") }, token, one);
  return { data: mapProject(answer.project), headers: answerHeaders(answer) };
};
