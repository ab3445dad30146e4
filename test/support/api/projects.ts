import { z } from "zod";
import { STEPS } from "../../../shared/contract/fields.ts";
import { dataOf } from "./envelope.ts";
import { exactPrediction, exactProject, type User } from "./user.ts";

const ofEachStep = z.strictObject(
  Object.fromEntries(STEPS.map((step) => [step, exactPrediction.nullable()])) as Record<
    (typeof STEPS)[number],
    z.ZodNullable<typeof exactPrediction>
  >, // each step has its entry, which the type of fromEntries cannot express
);
const exactWithPredictions = exactProject.extend({ predictions: ofEachStep, takes: ofEachStep }).strict();
const nextCursor = z.string().min(1).nullable();
const projectPage = z.strictObject({ projects: z.array(exactProject), nextCursor });
const fullPage = z.strictObject({ projects: z.array(exactWithPredictions), nextCursor });
const predictionPage = z.strictObject({ predictions: z.array(exactPrediction), nextCursor });

type Query = Record<string, string>;
const search = (query: Query) => `?${new URLSearchParams(query)}`;

export const readProject = async (by: User, id: string) =>
  exactWithPredictions.parse(dataOf(await by.call(`/api/projects/${id}`), 200));

export const changeProject = async (by: User, id: string, json: unknown) =>
  exactProject.parse(dataOf(await by.call(`/api/projects/${id}`, { method: "PATCH", json }), 200));

export const deleteProject = async (by: User, id: string) =>
  exactProject.parse(dataOf(await by.call(`/api/projects/${id}`, { method: "DELETE" }), 200));

export const listProjects = async (by: User, query: Query = {}) =>
  projectPage.parse(dataOf(await by.call(`/api/projects${search(query)}`), 200));

export const listProjectsWithPredictions = async (by: User, query: Query = {}) =>
  fullPage.parse(dataOf(await by.call(`/api/projects${search({ ...query, include: "predictions" })}`), 200));

export const listPredictions = async (by: User, projectId: string, query: Query = {}) =>
  predictionPage.parse(dataOf(await by.call(`/api/projects/${projectId}/predictions${search(query)}`), 200));
