import { z } from "zod";
import { predictionPage, project, projectPage, projectWithPredictions } from "../../../shared/contract/projects.ts";
import { dataOf } from "./envelope.ts";
import type { User } from "./user.ts";

const fullPage = projectPage.extend({ projects: z.array(projectWithPredictions) });

type Query = Record<string, string>;
const search = (query: Query) => `?${new URLSearchParams(query)}`;

export const readProject = async (by: User, id: string) =>
  projectWithPredictions.parse(dataOf(await by.call(`/api/projects/${id}`), 200));

export const changeProject = async (by: User, id: string, json: unknown) =>
  project.parse(dataOf(await by.call(`/api/projects/${id}`, { method: "PATCH", json }), 200));

export const deleteProject = async (by: User, id: string) =>
  project.parse(dataOf(await by.call(`/api/projects/${id}`, { method: "DELETE" }), 200));

export const listProjects = async (by: User, query: Query = {}) =>
  projectPage.parse(dataOf(await by.call(`/api/projects${search(query)}`), 200));

export const listProjectsWithPredictions = async (by: User, query: Query = {}) =>
  fullPage.parse(dataOf(await by.call(`/api/projects${search({ ...query, include: "predictions" })}`), 200));

export const listPredictions = async (by: User, projectId: string, query: Query = {}) =>
  predictionPage.parse(dataOf(await by.call(`/api/projects/${projectId}/predictions${search(query)}`), 200));
