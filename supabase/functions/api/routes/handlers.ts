import type { OperationId } from "../../../../shared/contract/operations/index.ts";
import type { Handler } from "../call.ts";
import { cancelPrediction, readPrediction, startPrediction } from "./generate.ts";
import { readHealth } from "./health.ts";
import { listPredictions, listProjects } from "./project-lists.ts";
import { changeProject, createProject, deleteProject, readProject } from "./projects.ts";
import { uploadReferenceImage } from "./reference-images.ts";
import { listDeliveries, recoverWebhook, redeliver, testWebhook } from "./webhook-deliveries.ts";
import { revealSecret, rotateSecret } from "./webhook-secrets.ts";
import { changeWebhook, createWebhook, deleteWebhook, listWebhooks, readWebhook } from "./webhooks.ts";

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
