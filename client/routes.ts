import type { OperationId, Step } from "./types.ts";

/** The method and path of each operation. */
export const ROUTES = {
  createProject: ["POST", "/projects"],
  listProjects: ["GET", "/projects"],
  readProject: ["GET", "/projects/:projectId"],
  changeProject: ["PATCH", "/projects/:projectId"],
  deleteProject: ["DELETE", "/projects/:projectId"],
  listPredictions: ["GET", "/projects/:projectId/predictions"],
  changePrediction: ["PATCH", "/projects/:projectId/predictions/:predictionId"],
  deletePrediction: ["DELETE", "/projects/:projectId/predictions/:predictionId"],
  createFilm: ["POST", "/films"],
  listFilms: ["GET", "/films"],
  readFilm: ["GET", "/films/:filmId"],
  changeFilm: ["PATCH", "/films/:filmId"],
  deleteFilm: ["DELETE", "/films/:filmId"],
  createElement: ["POST", "/elements"],
  listElements: ["GET", "/elements"],
  readElement: ["GET", "/elements/:elementId"],
  changeElement: ["PATCH", "/elements/:elementId"],
  deleteElement: ["DELETE", "/elements/:elementId"],
  startFilm: ["POST", "/films/:filmId/generate/:step"],
  estimateFilm: ["POST", "/films/:filmId/generate/:step/estimate"],
  shareFilm: ["POST", "/films/:filmId/share"],
  listShares: ["GET", "/films/:filmId/shares"],
  revokeShare: ["DELETE", "/films/:filmId/shares/:shareId"],
  readShared: ["GET", "/shared/:token"],
  uploadReferenceImage: ["POST", "/projects/reference-images"],
  listModels: ["GET", "/models"],
  readUsage: ["GET", "/usage"],
  addCredit: ["POST", "/credits"],
  startFirstFrame: ["POST", "/projects/generate/first-frame"],
  startLastFrame: ["POST", "/projects/generate/last-frame"],
  startVideo: ["POST", "/projects/generate/video"],
  estimateFirstFrame: ["POST", "/projects/generate/first-frame/estimate"],
  estimateLastFrame: ["POST", "/projects/generate/last-frame/estimate"],
  estimateVideo: ["POST", "/projects/generate/video/estimate"],
  startQuote: ["POST", "/projects/generate/quote"],
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
  createKey: ["POST", "/keys"],
  listKeys: ["GET", "/keys"],
  revokeKey: ["DELETE", "/keys/:keyId"],
} as const satisfies Record<OperationId, readonly ["GET" | "POST" | "PATCH" | "DELETE", `/${string}`]>;

/** Each step in the names of its operations. */
const NAMES = { "first-frame": "FirstFrame", "last-frame": "LastFrame", video: "Video" } as const;

export const nameOf = (step: Step): (typeof NAMES)[Step] => NAMES[mustBeStep(step)];

/** Throws a TypeError for any other name, which JavaScript can pass without a type check. */
export function mustBeStep(step: Step): Step {
  if (Object.hasOwn(NAMES, step)) return step;
  const steps = Object.keys(NAMES).map((name) => `"${name}"`);
  throw new TypeError(`There is no step ${JSON.stringify(step)}. The steps are ${steps.join(", ")}.`);
}
