import type { OPERATIONS, OperationId } from "../shared/contract/operations/index.ts";

/** What an app does. How the service itself is (tag Service) is for its operator. */
export type AppOperationId = {
  [Id in OperationId]: (typeof OPERATIONS)[Id]["tag"] extends "Service" ? never : Id;
}[OperationId];

/** Written out, so that no schema comes along at run time; the contract's types see to it that it is the contract's. */
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
