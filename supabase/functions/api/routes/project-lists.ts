import { z } from "zod";
import { answered, answerHeaders } from "../http/answer-headers.ts";
import type { Handler } from "../call.ts";
import { cutPage, pageArguments } from "../http/cursor.ts";
import { mapPrediction, outputPaths, predictionRow } from "../rows/map-prediction.ts";
import { latestRows, mapLatest, mapProject, projectRow } from "../rows/map-project.ts";

const projects = answered.extend({ projects: z.array(projectRow.extend({ predictions: latestRows.optional() })) });
const predictions = answered.extend({ predictions: z.array(predictionRow) });

/** GET /api/projects → 200 { projects, nextCursor }, newest first. */
export const listProjects: Handler<"listProjects"> = async ({ query, token }, { database, storage }) => {
  const args = { ...pageArguments(query), with_predictions: query.include === "predictions" };
  const answer = await database("list_projects", args, token, projects);
  const { rows, nextCursor } = cutPage(answer.projects, query.limit);
  const files = await storage.signGenerated(outputPaths(rows.flatMap((row) => row.predictions ?? [])), token);
  const listed = rows.map((row) => ({
    ...mapProject(row),
    ...(row.predictions ? { predictions: mapLatest(row.predictions, files) } : {}),
  }));
  return { data: { projects: listed, nextCursor }, headers: answerHeaders(answer) };
};

/** GET /api/projects/:projectId/predictions → 200 { predictions, nextCursor }, newest first. */
export const listPredictions: Handler<"listPredictions"> = async ({ path, query, token }, { database, storage }) => {
  const args = { project_id: path("projectId"), step: query.step, ...pageArguments(query) };
  const answer = await database("list_predictions", args, token, predictions);
  const { rows, nextCursor } = cutPage(answer.predictions, query.limit);
  const files = await storage.signGenerated(outputPaths(rows), token);
  const listed = rows.map((row) => mapPrediction(row, files));
  return { data: { predictions: listed, nextCursor }, headers: answerHeaders(answer) };
};
