import type { Step, UsageGroup } from "../../../client/index.ts";

/** The first part of the keys of uploaded images. */
export const REFERENCE = "reference";

/** The keys of all queries. `forget` finds the queries of a deleted resource by the id in the key. */
export const queryKeys = {
  project: (projectId: string) => ["project", projectId],
  projects: (search: string) => ["projects", search],
  projectsToAdd: (search: string) => ["projects to add", search],
  estimate: (projectId: string, step: Step, inputKey: string) => ["estimate", projectId, step, inputKey],
  models: ["models"],
  prediction: (predictionId: string) => ["prediction", predictionId],
  predictions: (projectId: string, step: Step, withHidden: boolean) => ["predictions", projectId, step, withHidden],
  reference: (path: string) => [REFERENCE, path],
  endOf: (predictionId: string) => [REFERENCE, "end of", predictionId],
  films: ["films"],
  allFilms: ["all films"],
  film: (filmId: string | null) => ["film", filmId],
  filmEstimate: (filmId: string, ...input: (string | boolean)[]) => ["film estimate", filmId, ...input],
  shares: (filmId: string) => ["shares", filmId],
  sharedFilm: (token: string) => ["shared film", token],
  elements: ["elements"],
  ownCasts: ["own casts"],
  apiKeys: ["api keys"],
  usage: (groupBy: UsageGroup, month: string) => ["usage", groupBy, month],
  titles: (projectIds: string[]) => ["titles", projectIds],
  webhooks: ["webhooks"],
  webhook: (webhookId: string) => ["webhook", webhookId],
  webhookHealth: (webhookId: string | null) => ["webhook health", webhookId],
  anyWebhookHealth: ["webhook health"],
  deliveries: (webhookId: string, filter: object) => ["deliveries", webhookId, filter],
  delivery: (deliveryId: string) => ["delivery", deliveryId],
  installedVersion: ["installed version"],
};

/** The keys of mutations that a page finds again: while they run, or after their answer was lost. */
export const mutationKeys = {
  start: (projectId: string, step: Step) => ["start", projectId, step],
  startFilm: (filmId: string) => ["start film", filmId],
  duplicate: (id: string) => ["duplicate", id],
  addReferences: (fieldId: string) => ["add references", fieldId],
};
