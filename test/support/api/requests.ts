import type postgres from "postgres";
import { inject } from "vitest";
import { estimate as estimated } from "../../../shared/contract/costs.ts";
import { OPERATIONS, type OperationId } from "../../../shared/contract/operations/index.ts";
import { delivery } from "../../../shared/contract/webhooks.ts";
import type { CallOptions } from "./call.ts";
import { dataOf, type Reply } from "./envelope.ts";
import { drawImage } from "../media/images.ts";
import { startStuck } from "./stuck.ts";
import { makeKey } from "./keys.ts";
import { shareFilm } from "./shares.ts";
import { signUp, type User } from "./user.ts";
import { type Manager, register } from "./webhooks.ts";

/** What requests are about: a project with a first frame, a running last frame and a failed video, a film, an element, an endpoint with a delivery. */
export type Scene = Ids & {
  user: User;
  /** Who may do all that is asked for: the user, or for webhooks the project. */
  manager: Manager;
};
type Ids = Record<
  | "projectId"
  | "filmId"
  | "elementId"
  | "shareId"
  | "shareToken"
  | "finishedId"
  | "runningId"
  | "failedId"
  | "webhookId"
  | "deliveryId"
  | "quoteId"
  | "keyId",
  string
>;

export const RATE_CLASSES = ["read", "change", "create", "generate", "upload"] as const;
export type RateClass = (typeof RATE_CLASSES)[number];

/** One request that succeeds, however often it is made. */
type ApiRequest = {
  path: (ids: Ids) => string;
  options?: (ids: Ids) => CallOptions | Promise<CallOptions>;
  /** What it uses up, made for each request. */
  uses?: (scene: Scene) => Promise<Partial<Ids>>;
  /** The one SQL function it calls. */
  calls: string;
  /** Whose token it takes; null: none. */
  takes: RateClass | null;
};

/** The provider refuses it at once, so nothing is drawn. */
const REFUSED = "[[fault:rejected]] A harbour";

const start = (step: string): ApiRequest => ({
  path: () => `/api/projects/generate/${step}`,
  options: ({ projectId }) => ({ json: { projectId, prompt: REFUSED } }),
  calls: "start_prediction",
  takes: "generate",
});
const estimate = (step: string): ApiRequest => ({
  path: () => `/api/projects/generate/${step}/estimate`,
  options: ({ projectId }) => ({ json: { projectId } }),
  calls: "estimate_prediction",
  takes: "read",
});
const read = (step: string, idOf: (ids: Ids) => string): ApiRequest => ({
  path: (scene) =>
    `/api/projects/generate/${step}?${new URLSearchParams({ projectId: scene.projectId, predictionId: idOf(scene) })}`,
  calls: "read_prediction",
  takes: "read",
});
/** The price of a first frame by the default model. */
const FRAME_MICROS = 67_000;
async function quoteFrame(user: User, projectId: string): Promise<string> {
  const json = { projectId, prompt: REFUSED };
  const reply = await user.post("/api/projects/generate/first-frame/estimate?quote=true", json);
  return estimated.parse(dataOf(reply, 200)).quoteId ?? "";
}

const prediction = ({ projectId, finishedId }: Ids) => `/api/projects/${projectId}/predictions/${finishedId}`;
const element = ({ elementId }: Ids) => `/api/elements/${elementId}`;
const webhook =
  (rest = "") =>
  ({ webhookId }: Ids) =>
    `/api/webhooks/${webhookId}${rest}`;

/** One for each operation of the contract; one that is missing does not compile. */
export const REQUESTS: Record<OperationId, ApiRequest> = {
  createProject: {
    path: () => "/api/projects",
    options: () => ({ json: { title: "Harbour", textPrompt: "Dawn" } }),
    calls: "create_project",
    takes: "create",
  },
  listProjects: { path: () => "/api/projects?limit=2", calls: "list_projects", takes: "read" },
  readProject: { path: ({ projectId }) => `/api/projects/${projectId}`, calls: "read_project", takes: "read" },
  changeProject: {
    path: ({ projectId }) => `/api/projects/${projectId}`,
    options: () => ({ json: { title: "Lighthouse" } }),
    calls: "update_project",
    takes: "change",
  },
  deleteProject: {
    path: ({ projectId }) => `/api/projects/${projectId}`,
    uses: async ({ user }) => ({ projectId: await user.createProject() }),
    calls: "delete_project",
    takes: "change",
  },
  listPredictions: {
    path: ({ projectId }) => `/api/projects/${projectId}/predictions?step=last-frame`,
    calls: "list_predictions",
    takes: "read",
  },
  createFilm: {
    path: () => "/api/films",
    options: () => ({ json: { title: "The pier" } }),
    calls: "create_film",
    takes: "create",
  },
  listFilms: { path: () => "/api/films?limit=2", calls: "list_films", takes: "read" },
  readFilm: { path: ({ filmId }) => `/api/films/${filmId}`, calls: "read_film", takes: "read" },
  changeFilm: {
    path: ({ filmId }) => `/api/films/${filmId}`,
    options: ({ projectId }) => ({ json: { title: "Quay", projectIds: [projectId] } }),
    calls: "update_film",
    takes: "change",
  },
  deleteFilm: {
    path: ({ filmId }) => `/api/films/${filmId}?projects=delete`,
    uses: async ({ user }) => {
      const filmId = await user.createFilm();
      await user.createProject({ filmId });
      return { filmId };
    },
    calls: "delete_film",
    takes: "change",
  },
  createElement: {
    path: () => "/api/elements",
    options: () => ({ json: { kind: "place", name: "Harbour" } }),
    calls: "create_element",
    takes: "create",
  },
  listElements: { path: () => "/api/elements?limit=2", calls: "list_elements", takes: "read" },
  readElement: { path: element, calls: "read_element", takes: "read" },
  changeElement: {
    path: element,
    options: () => ({ json: { text: "Fog" } }),
    calls: "update_element",
    takes: "change",
  },
  deleteElement: {
    path: element,
    uses: async ({ user }) => ({ elementId: await user.createElement() }),
    calls: "delete_element",
    takes: "change",
  },
  startFilm: {
    path: ({ filmId }) => `/api/films/${filmId}/generate/first-frame`,
    options: () => ({ json: {} }),
    uses: async ({ user }) => {
      const filmId = await user.createFilm();
      await user.createProject({ filmId, textPrompt: REFUSED });
      return { filmId };
    },
    calls: "start_film",
    takes: "generate",
  },
  estimateFilm: {
    path: ({ filmId }) => `/api/films/${filmId}/generate/first-frame/estimate`,
    options: () => ({ json: {} }),
    calls: "estimate_film",
    takes: "read",
  },
  shareFilm: {
    path: ({ filmId }) => `/api/films/${filmId}/share`,
    options: () => ({ json: {} }),
    uses: async ({ user }) => ({ filmId: await user.createFilm() }),
    calls: "share_film",
    takes: "create",
  },
  listShares: { path: ({ filmId }) => `/api/films/${filmId}/shares`, calls: "list_film_shares", takes: "read" },
  revokeShare: {
    path: ({ filmId, shareId }) => `/api/films/${filmId}/shares/${shareId}`,
    uses: async ({ user, filmId }) => ({ shareId: (await shareFilm(user, filmId)).shareId }),
    calls: "revoke_film_share",
    takes: "change",
  },
  readShared: { path: ({ shareToken }) => `/api/shared/${shareToken}`, calls: "read_shared_film", takes: null },
  changePrediction: {
    path: prediction,
    options: () => ({ json: { hidden: false } }),
    calls: "update_prediction",
    takes: "change",
  },
  deletePrediction: {
    path: prediction,
    uses: async ({ user, projectId }) => {
      const { predictionId } = await user.finish(await user.start("first-frame", { projectId, prompt: REFUSED }));
      return { finishedId: predictionId };
    },
    calls: "delete_prediction",
    takes: "change",
  },
  uploadReferenceImage: {
    path: () => "/api/projects/reference-images",
    options: async () => ({ body: await drawImage(), headers: { "content-type": "image/png" } }),
    calls: "admit_upload",
    takes: "upload",
  },
  listModels: { path: () => "/api/models", calls: "list_models", takes: "read" },
  startFirstFrame: start("first-frame"),
  startLastFrame: start("last-frame"),
  startVideo: start("video"),
  readUsage: { path: () => "/api/usage?groupBy=model", calls: "read_usage", takes: "read" },
  addCredit: {
    path: () => "/api/credits",
    options: () => ({ json: { key: "payment-1", kind: "purchase", amountMicros: 1_000_000_000 } }),
    calls: "add_credit",
    takes: null,
  },
  estimateFirstFrame: estimate("first-frame"),
  estimateLastFrame: estimate("last-frame"),
  estimateVideo: estimate("video"),
  startQuote: {
    path: () => "/api/projects/generate/quote",
    options: ({ quoteId }) => ({ json: { quoteId, atMostMicros: FRAME_MICROS } }),
    uses: async ({ user, projectId }) => ({ quoteId: await quoteFrame(user, projectId) }),
    calls: "start_quote",
    takes: "generate",
  },
  readFirstFrame: read("first-frame", ({ finishedId }) => finishedId),
  readLastFrame: read("last-frame", ({ runningId }) => runningId),
  readVideo: read("video", ({ failedId }) => failedId),
  cancelPrediction: {
    path: () => "/api/projects/generate/cancel",
    options: ({ projectId, runningId }) => ({ json: { projectId, predictionId: runningId } }),
    calls: "cancel_prediction",
    takes: "change",
  },
  createWebhook: {
    path: () => "/api/webhooks",
    options: () => ({ json: { url: "http://127.0.0.1:65535/hooks", enabled: false } }),
    calls: "create_webhook_endpoint",
    takes: "create",
  },
  listWebhooks: { path: () => "/api/webhooks", calls: "list_webhook_endpoints", takes: "read" },
  readWebhook: { path: webhook(), calls: "read_webhook_endpoint", takes: "read" },
  changeWebhook: {
    path: webhook(),
    options: () => ({ json: { description: "CRM" } }),
    calls: "update_webhook_endpoint",
    takes: "change",
  },
  deleteWebhook: {
    path: webhook(),
    uses: async ({ manager }) => ({ webhookId: (await register(manager, { enabled: false })).webhookId }),
    calls: "delete_webhook_endpoint",
    takes: "change",
  },
  revealSecret: { path: webhook("/secret"), calls: "reveal_webhook_secret", takes: "read" },
  rotateSecret: {
    path: webhook("/secret/rotate"),
    options: () => ({ json: { overlapHours: 0 } }),
    calls: "rotate_webhook_secret",
    takes: "change",
  },
  testWebhook: { path: webhook("/test"), calls: "test_webhook_endpoint", takes: "create" },
  listDeliveries: { path: webhook("/deliveries"), calls: "list_webhook_deliveries", takes: "read" },
  readDelivery: {
    path: ({ deliveryId }) => `/api/webhooks/deliveries/${deliveryId}/attempts`,
    calls: "read_webhook_delivery",
    takes: "read",
  },
  redeliver: {
    path: ({ deliveryId }) => `/api/webhooks/deliveries/${deliveryId}/redeliver`,
    calls: "redeliver_webhook",
    takes: "change",
  },
  recoverWebhook: {
    path: webhook("/recover"),
    options: () => ({ json: { since: new Date().toISOString() } }),
    calls: "recover_webhook_endpoint",
    takes: "change",
  },
  createKey: {
    path: () => "/api/keys",
    options: () => ({ json: { name: "A script", may: "read" } }),
    calls: "create_key",
    takes: "create",
  },
  listKeys: { path: () => "/api/keys", calls: "list_keys", takes: "read" },
  revokeKey: { path: ({ keyId }) => `/api/keys/${keyId}`, calls: "revoke_key", takes: "change" },
  readHealth: { path: () => "/api/health", calls: "health", takes: null },
};

// The keys of OPERATIONS are the OperationIds, but Object.keys returns strings.
export const OPERATION_IDS = Object.keys(OPERATIONS) as OperationId[];

/** A new user with everything that REQUESTS are about; the endpoint may be the project's instead. */
export async function setScene(sql: postgres.Sql, given?: Manager): Promise<Scene> {
  const user = await signUp();
  const manager = given ?? user;
  const filmId = await user.createFilm();
  const elementId = await user.createElement({ imagePaths: [await user.upload(await drawImage())] });
  const projectId = await user.createProject({ filmId });
  const [finished, running, { webhookId }] = await Promise.all([
    user.start("first-frame", { projectId }).then(user.finish),
    startStuck(sql, user, "last-frame", projectId),
    register(manager, { eventTypes: ["project.created"] }),
  ]);
  const sent = delivery.parse(dataOf(await manager.post(`/api/webhooks/${webhookId}/test`, {}), 202));
  const { deliveryId } = sent;
  const { shareId, token: shareToken } = await shareFilm(user, filmId);
  const { keyId } = await makeKey(user);
  const failed = await user.finish(await user.start("video", { projectId, prompt: REFUSED }));
  return {
    user,
    manager,
    projectId,
    filmId,
    elementId,
    shareId,
    shareToken,
    finishedId: finished.predictionId,
    runningId: running.predictionId,
    failedId: failed.predictionId,
    webhookId,
    deliveryId,
    quoteId: await quoteFrame(user, projectId),
    keyId,
  };
}

/** The request of an operation, with all that it needs in place: making it is one call. */
export async function prepare(id: OperationId, given: Scene): Promise<{ path: string; options: CallOptions }> {
  const { path, options, uses } = REQUESTS[id];
  const { method, caller } = OPERATIONS[id];
  const scene = { ...given, ...(await uses?.(given)) };
  const headers = { authorization: `Bearer ${inject("stack").secretKey}`, "keyframe-user": given.user.id };
  const byServer = caller === "server" ? { headers } : {};
  return { path: path(scene), options: { method, ...byServer, ...(await options?.(scene)) } };
}

/** Makes the request of an operation, by default as the one whose scene it is. */
export async function request(id: OperationId, scene: Scene, by: Manager = scene.manager): Promise<Reply> {
  const { path, options } = await prepare(id, scene);
  return await by.call(path, options);
}
