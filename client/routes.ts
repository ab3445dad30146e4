import type { OPERATIONS, OperationId } from "../shared/contract/operations/index.ts";

/** Without the tag Service, which is for operators. */
export type AppOperationId = {
  [Id in OperationId]: (typeof OPERATIONS)[Id]["tag"] extends "Service" ? never : Id;
}[OperationId];

/** A copy, so that bundles contain no schema; its type requires it to equal the contract. */
export const ROUTES = {
  createProject: ["POST", "/projects"],
  listProjects: ["GET", "/projects"],
  readProject: ["GET", "/projects/:projectId"],
  changeProject: ["PATCH", "/projects/:projectId"],
  deleteProject: ["DELETE", "/projects/:projectId"],
  listPredictions: ["GET", "/projects/:projectId/predictions"],
  uploadReferenceImage: ["POST", "/projects/reference-images"],
  startFirstFrame: ["POST", "/projects/generate/first-frame"],
  startLastFrame: ["POST", "/projects/generate/last-frame"],
  startVideo: ["POST", "/projects/generate/video"],
  readFirstFrame: ["GET", "/projects/generate/first-frame"],
  readLastFrame: ["GET", "/projects/generate/last-frame"],
  readVideo: ["GET", "/projects/generate/video"],
  cancelPrediction: ["POST", "/projects/generate/cancel"],
  createWebhook: ["POST", "/webhooks"],
  listWebhooks: ["GET", "/webhooks"],
  readWebhook: ["GET", "/webhooks/:webhookId"],
  changeWebhook: ["PATCH", "/webhooks/:webhookId"],
  deleteWebhook: ["DELETE", "/webhooks/:webhookId"],
  revealSecret: ["GET", "/webhooks/:webhookId/secret"],
  rotateSecret: ["POST", "/webhooks/:webhookId/secret/rotate"],
  testWebhook: ["POST", "/webhooks/:webhookId/test"],
  listDeliveries: ["GET", "/webhooks/:webhookId/deliveries"],
  readDelivery: ["GET", "/webhooks/deliveries/:deliveryId/attempts"],
  redeliver: ["POST", "/webhooks/deliveries/:deliveryId/redeliver"],
  recoverWebhook: ["POST", "/webhooks/:webhookId/recover"],
} as const satisfies {
  [Id in AppOperationId]: readonly [(typeof OPERATIONS)[Id]["method"], (typeof OPERATIONS)[Id]["at"]];
};
