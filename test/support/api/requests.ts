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
import { type Manager, register, SILENT } from "./webhooks.ts";

/** What requests are about: a project with a first frame, a running last frame and a failed video, a film, an element, an endpoint with a delivery. */
export type Scene = Ids & {
  user: User;
  /** Who may do all that is asked for: the user, or for webhooks the project. */
  manager: Manager;
};
const ID_NAMES = [
  ...(["projectId", "filmId", "elementId", "shareId", "shareToken", "finishedId", "runningId"] as const),
  ...(["failedId", "webhookId", "deliveryId", "quoteId", "keyId"] as const),
] as const;
type Ids = Record<(typeof ID_NAMES)[number], string>;

export const unknownIds = (): Ids =>
  ({
    ...Object.fromEntries(ID_NAMES.map((name) => [name, crypto.randomUUID()])),
    ...{ shareToken: "t".repeat(43), keyId: `kf_${"0".repeat(16)}` },
  }) as Ids; // ID_NAMES are its keys

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

/** `:name` in the address is the id of that name. */
const at = (
  template: string,
  calls: string,
  takes: RateClass | null,
  json?: (ids: Ids) => object,
  uses?: ApiRequest["uses"],
): ApiRequest => ({
  path: (ids) => template.replaceAll(/:(\w+)/g, (_, name) => ids[name as keyof Ids]), // the templates name no other
  ...{ calls, takes },
  ...(json && { options: (ids) => ({ json: json(ids) }) }),
  ...(uses && { uses }),
});

const GENERATE = "/api/projects/generate";
const start = (step: string) =>
  at(`${GENERATE}/${step}`, "start_prediction", "generate", ({ projectId }) => ({ projectId, prompt: REFUSED }));
const estimate = (step: string) =>
  at(`${GENERATE}/${step}/estimate`, "estimate_prediction", "read", ({ projectId }) => ({ projectId }));
const read = (step: string, id: keyof Ids) =>
  at(`${GENERATE}/${step}?projectId=:projectId&predictionId=:${id}`, "read_prediction", "read");
/** The price of a first frame by the default model. */
const atMostMicros = 67_000;
async function quoteFrame(user: User, projectId: string): Promise<string> {
  const json = { projectId, prompt: REFUSED };
  const reply = await user.post(`${GENERATE}/first-frame/estimate?quote=true`, json);
  return estimated.parse(dataOf(reply, 200)).quoteId ?? "";
}

// What a request uses up, made for each.
const newProject = async ({ user }: Scene) => ({ projectId: await user.createProject() });
const newFilm = async ({ user }: Scene) => ({ filmId: await user.createFilm() });
const newElement = async ({ user }: Scene) => ({ elementId: await user.createElement() });
const newQuote = async ({ user, projectId }: Scene) => ({ quoteId: await quoteFrame(user, projectId) });
const newShare = async ({ user, filmId }: Scene) => ({ shareId: (await shareFilm(user, filmId)).shareId });
const newWebhook = async ({ manager }: Scene) => ({
  webhookId: (await register(manager, { enabled: false })).webhookId,
});
async function newFilmWithShot({ user }: Scene) {
  const filmId = await user.createFilm();
  await user.createProject({ filmId, textPrompt: REFUSED });
  return { filmId };
}
async function newTake({ user, projectId }: Scene) {
  const { predictionId } = await user.finish(await user.start("first-frame", { projectId, prompt: REFUSED }));
  return { finishedId: predictionId };
}

const PROJECT = "/api/projects/:projectId";
const PREDICTION = `${PROJECT}/predictions/:finishedId`;
const FILM = "/api/films/:filmId";
const ELEMENT = "/api/elements/:elementId";
const WEBHOOK = "/api/webhooks/:webhookId";
const DELIVERY = "/api/webhooks/deliveries/:deliveryId";
const SILENT_WEBHOOK = { url: SILENT, enabled: false };

/** One for each operation of the contract; one that is missing does not compile. */
export const REQUESTS: Record<OperationId, ApiRequest> = {
  createProject: at("/api/projects", "create_project", "create", () => ({ title: "Harbour", textPrompt: "Dawn" })),
  listProjects: at("/api/projects?limit=2", "list_projects", "read"),
  readProject: at(PROJECT, "read_project", "read"),
  changeProject: at(PROJECT, "update_project", "change", () => ({ title: "Lighthouse" })),
  deleteProject: at(PROJECT, "delete_project", "change", undefined, newProject),
  listPredictions: at(`${PROJECT}/predictions?step=last-frame`, "list_predictions", "read"),
  createFilm: at("/api/films", "create_film", "create", () => ({ title: "The pier" })),
  listFilms: at("/api/films?limit=2", "list_films", "read"),
  readFilm: at(FILM, "read_film", "read"),
  changeFilm: at(FILM, "update_film", "change", ({ projectId }) => ({ title: "Quay", projectIds: [projectId] })),
  deleteFilm: at(`${FILM}?projects=delete`, "delete_film", "change", undefined, newFilmWithShot),
  createElement: at("/api/elements", "create_element", "create", () => ({ kind: "place", name: "Harbour" })),
  listElements: at("/api/elements?limit=2", "list_elements", "read"),
  readElement: at(ELEMENT, "read_element", "read"),
  changeElement: at(ELEMENT, "update_element", "change", () => ({ text: "Fog" })),
  deleteElement: at(ELEMENT, "delete_element", "change", undefined, newElement),
  startFilm: at(`${FILM}/generate/first-frame`, "start_film", "generate", () => ({}), newFilmWithShot),
  estimateFilm: at(`${FILM}/generate/first-frame/estimate`, "estimate_film", "read", () => ({})),
  shareFilm: at(`${FILM}/share`, "share_film", "create", () => ({}), newFilm),
  listShares: at(`${FILM}/shares`, "list_film_shares", "read"),
  revokeShare: at(`${FILM}/shares/:shareId`, "revoke_film_share", "change", undefined, newShare),
  readShared: at("/api/shared/:shareToken", "read_shared_film", null),
  changePrediction: at(PREDICTION, "update_prediction", "change", () => ({ hidden: false })),
  deletePrediction: at(PREDICTION, "delete_prediction", "change", undefined, newTake),
  uploadReferenceImage: {
    ...at("/api/projects/reference-images", "admit_upload", "upload"),
    options: async () => ({ body: await drawImage(), headers: { "content-type": "image/png" } }),
  },
  listModels: at("/api/models", "list_models", "read"),
  startFirstFrame: start("first-frame"),
  startLastFrame: start("last-frame"),
  startVideo: start("video"),
  readUsage: at("/api/usage?groupBy=model", "read_usage", "read"),
  addCredit: at("/api/credits", "add_credit", null, () => ({
    ...{ key: "payment-1", kind: "purchase", amountMicros: 1_000_000_000 },
  })),
  estimateFirstFrame: estimate("first-frame"),
  estimateLastFrame: estimate("last-frame"),
  estimateVideo: estimate("video"),
  startQuote: at(
    `${GENERATE}/quote`,
    "start_quote",
    "generate",
    ({ quoteId }) => ({ quoteId, atMostMicros }),
    newQuote,
  ),
  readFirstFrame: read("first-frame", "finishedId"),
  readLastFrame: read("last-frame", "runningId"),
  readVideo: read("video", "failedId"),
  cancelPrediction: at(`${GENERATE}/cancel`, "cancel_prediction", "change", ({ projectId, runningId }) => ({
    ...{ projectId, predictionId: runningId },
  })),
  createWebhook: at("/api/webhooks", "create_webhook_endpoint", "create", () => SILENT_WEBHOOK),
  listWebhooks: at("/api/webhooks", "list_webhook_endpoints", "read"),
  readWebhook: at(WEBHOOK, "read_webhook_endpoint", "read"),
  changeWebhook: at(WEBHOOK, "update_webhook_endpoint", "change", () => ({ description: "CRM" })),
  deleteWebhook: at(WEBHOOK, "delete_webhook_endpoint", "change", undefined, newWebhook),
  revealSecret: at(`${WEBHOOK}/secret`, "reveal_webhook_secret", "read"),
  rotateSecret: at(`${WEBHOOK}/secret/rotate`, "rotate_webhook_secret", "change", () => ({ overlapHours: 0 })),
  testWebhook: at(`${WEBHOOK}/test`, "test_webhook_endpoint", "create"),
  listDeliveries: at(`${WEBHOOK}/deliveries`, "list_webhook_deliveries", "read"),
  readDelivery: at(`${DELIVERY}/attempts`, "read_webhook_delivery", "read"),
  redeliver: at(`${DELIVERY}/redeliver`, "redeliver_webhook", "change"),
  recoverWebhook: at(`${WEBHOOK}/recover`, "recover_webhook_endpoint", "change", () => ({
    since: new Date().toISOString(),
  })),
  createKey: at("/api/keys", "create_key", "create", () => ({ name: "A script", may: "read" })),
  listKeys: at("/api/keys", "list_keys", "read"),
  revokeKey: at("/api/keys/:keyId", "revoke_key", "change"),
  readHealth: at("/api/health", "health", null),
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
    ...{ user, manager, projectId, filmId, elementId, shareId, shareToken, webhookId, deliveryId, keyId },
    finishedId: finished.predictionId,
    runningId: running.predictionId,
    failedId: failed.predictionId,
    quoteId: await quoteFrame(user, projectId),
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

export async function request(id: OperationId, scene: Scene, by: Manager = scene.manager): Promise<Reply> {
  const { path, options } = await prepare(id, scene);
  return await by.call(path, options);
}
