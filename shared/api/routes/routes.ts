import { STEPS } from "../../contract/fields.ts";
import { KEY_ID } from "../../contract/keys.ts";
import { OPERATIONS, type OperationId } from "../../contract/operations/index.ts";
import { TOKEN } from "../../contract/shares.ts";
import { changeElement, createElement, deleteElement, listElements, readElement } from "./elements.ts";
import { changeFilm, createFilm, deleteFilm, estimateFilm, listFilms, readFilm, startFilm } from "./films.ts";
import {
  addCredit,
  cancelPrediction,
  changePrediction,
  deletePrediction,
  estimatePrediction,
  listModels,
  readPrediction,
  readUsage,
  startPrediction,
  startQuote,
} from "./generate.ts";
import type { Handler } from "./handler.ts";
import { readHealth } from "./health.ts";
import { createKey, listKeys, revokeKey } from "./keys.ts";
import { changeProject, createProject, deleteProject, listPredictions, listProjects, readProject } from "./projects.ts";
import { listShares, readShared, revokeShare, shareFilm } from "./shares.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  listDeliveries,
  listWebhooks,
  readDelivery,
  readWebhook,
  recoverWebhook,
  redeliver,
  revealSecret,
  rotateSecret,
  testWebhook,
} from "./webhooks.ts";

/** The handler of each operation of the contract. */
export const HANDLERS: { [Id in OperationId]: Handler<Id> } = {
  createProject,
  listProjects,
  readProject,
  changeProject,
  deleteProject,
  listPredictions,
  changePrediction,
  deletePrediction,
  // Loaded with the first upload: node:zlib takes an eighth of the function's start.
  uploadReferenceImage: async (...given) => (await import("./reference-images.ts")).uploadReferenceImage(...given),
  createFilm,
  listFilms,
  readFilm,
  changeFilm,
  deleteFilm,
  createElement,
  listElements,
  readElement,
  changeElement,
  deleteElement,
  startFilm,
  estimateFilm,
  shareFilm,
  listShares,
  revokeShare,
  readShared,
  startFirstFrame: startPrediction("first-frame"),
  startLastFrame: startPrediction("last-frame"),
  startVideo: startPrediction("video"),
  estimateFirstFrame: estimatePrediction("first-frame"),
  estimateLastFrame: estimatePrediction("last-frame"),
  estimateVideo: estimatePrediction("video"),
  startQuote,
  readFirstFrame: readPrediction("first-frame"),
  readLastFrame: readPrediction("last-frame"),
  readVideo: readPrediction("video"),
  cancelPrediction,
  listModels,
  readUsage,
  addCredit,
  createWebhook,
  listWebhooks,
  readWebhook,
  changeWebhook,
  deleteWebhook,
  revealSecret,
  rotateSecret,
  testWebhook,
  listDeliveries,
  readDelivery,
  redeliver,
  recoverWebhook,
  createKey,
  listKeys,
  revokeKey,
  readHealth,
};

/** One path of the API and its operations by method. */
type Route = {
  /** The path of the contract, with :names; used in the log. */
  at: string;
  /** The path for Hono. */
  pattern: string;
  operations: Partial<Record<string, OperationId>>;
};

type Form = { pattern: string; rule: string };

/** The form of an identifier in a path; anything else is not_found. */
const UUID: Form = {
  pattern: "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
  rule: "a UUID",
};

/** The forms of other path parameters. */
const FORMS: Record<string, Form> = {
  step: { pattern: `(?:${STEPS.join("|")})`, rule: "first-frame, last-frame or video" },
  token: { pattern: TOKEN, rule: "the 43 characters at the end of a film's link" },
  keyId: { pattern: KEY_ID, rule: "the first 19 characters of a key" },
};

const formOf = (name: string): Form => FORMS[name] ?? UUID;

/** All paths of the contract. */
export function listRoutes(): Route[] {
  const routes = new Map<string, Route>();
  for (const [id, { method, at }] of Object.entries(OPERATIONS)) {
    const pattern = at.replaceAll(/:(\w+)/g, (_, name) => `:${name}{${formOf(name).pattern}}`);
    const route = routes.get(at) ?? { at, pattern, operations: {} };
    // The keys of OPERATIONS are the OperationIds, which Object.entries forgets.
    route.operations[method] = id as OperationId;
    routes.set(at, route);
  }
  return [...routes.values()];
}

/** Why no route has this path (below /api): a parameter has another form, or nothing is like it. */
export function explainNotFound(path: string): string {
  for (const { at } of Object.values(OPERATIONS)) {
    const given = new RegExp(`^${at.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)")}$`).exec(path)?.groups ?? {};
    for (const [name, value] of Object.entries(given)) {
      const { pattern, rule } = formOf(name);
      if (!new RegExp(`^${pattern}$`).test(value))
        return `This path does not exist. Check its spelling: ${name} must be ${rule}.`;
    }
  }
  return "This path does not exist. Check its spelling.";
}
