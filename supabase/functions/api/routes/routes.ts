import { type OperationId, OPERATIONS } from "../../../../shared/contract/operations/index.ts";
import type { Handler } from "../call.ts";
import { cancelPrediction, readPrediction, startPrediction } from "./generate.ts";
import { readHealth } from "./health.ts";
import { changeProject, createProject, deleteProject, listPredictions, listProjects, readProject } from "./projects.ts";
import { uploadReferenceImage } from "./reference-images.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  readWebhook,
  recoverWebhook,
  redeliver,
  revealSecret,
  rotateSecret,
  testWebhook,
} from "./webhooks.ts";

/** Who does each operation of the contract; one that is missing does not compile. */
export const HANDLERS: { [Id in OperationId]: Handler<Id> } = {
  createProject,
  listProjects,
  readProject,
  changeProject,
  deleteProject,
  listPredictions,
  uploadReferenceImage,
  startFirstFrame: startPrediction("first-frame"),
  startLastFrame: startPrediction("last-frame"),
  startVideo: startPrediction("video"),
  readFirstFrame: readPrediction("first-frame"),
  readLastFrame: readPrediction("last-frame"),
  readVideo: readPrediction("video"),
  cancelPrediction,
  createWebhook,
  listWebhooks,
  readWebhook,
  changeWebhook,
  deleteWebhook,
  revealSecret,
  rotateSecret,
  testWebhook,
  listDeliveries,
  redeliver,
  recoverWebhook,
  readHealth,
};

/** One path of the API and what each method of it does. */
export type Route = {
  /** As the contract writes it, with :names: what the log tells. */
  at: string;
  /** As Hono matches it. */
  pattern: string;
  operations: Partial<Record<string, OperationId>>;
};

/** What an identifier in a path must look like; anything else is no path of ours. */
const UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

/** All paths of the contract. */
export function listRoutes(): Route[] {
  const routes = new Map<string, Route>();
  for (const [id, { method, at }] of Object.entries(OPERATIONS)) {
    const pattern = at.replaceAll(/:(\w+)/g, `:$1{${UUID}}`);
    const route = routes.get(at) ?? { at, pattern, operations: {} };
    // The keys of OPERATIONS are the OperationIds, which Object.entries forgets.
    route.operations[method] = id as OperationId;
    routes.set(at, route);
  }
  return [...routes.values()];
}
