import type { ClonedDatabase } from "./clone-database.ts";
import { seedPrediction, type World } from "./predictions.ts";
import { addReference } from "./user.ts";
import { addEndpoint, type Caller, call, seedDeliveries } from "./webhooks.ts";

/** What requests are about: a project with a running prediction, a film with a link, an element, and an endpoint with a delivery. */
export type Scene = World & {
  caller: Caller;
  prediction: string;
  film: string;
  quote: string;
  element: string;
  share: string;
  key: string;
  endpoint: string;
  delivery: string;
};
type Args = Record<string, string | number | boolean | object>;

/** A function that the api function calls for a caller: which token it takes, and whether it serves a POST. */
type RequestOf = {
  takes: "create" | "generate" | "upload" | "change" | "read";
  post?: true;
  args: (scene: Scene) => Args;
};

const ofProject = ({ project }: Scene) => ({ project_id: project });
const ofFilm = ({ film }: Scene) => ({ film_id: film });
const ofElement = ({ element }: Scene) => ({ element_id: element });
const ofEndpoint = ({ endpoint }: Scene) => ({ endpoint_id: endpoint });
const ofDelivery = ({ delivery }: Scene) => ({ delivery_id: delivery });
const none = () => ({});
const FRAME = { step: "first-frame" };

/** Those of projects and predictions, and the glance at webhooks: for users alone. */
const USER_REQUESTS: Record<string, RequestOf> = {
  create_project: { takes: "create", post: true, args: () => ({ title: "Harbour", text_prompt: "A harbour at dawn" }) },
  list_projects: { takes: "read", args: none },
  read_project: { takes: "read", args: ofProject },
  update_project: { takes: "change", args: (of) => ({ ...ofProject(of), changes: { title: "Harbour II" } }) },
  delete_project: { takes: "change", args: ofProject },
  create_film: { takes: "create", post: true, args: () => ({ title: "The pier" }) },
  list_films: { takes: "read", args: none },
  read_film: { takes: "read", args: ofFilm },
  update_film: { takes: "change", args: (of) => ({ ...ofFilm(of), project_ids: [of.project] }) },
  delete_film: { takes: "change", args: ofFilm },
  create_element: { takes: "create", post: true, args: () => ({ kind: "place", name: "Harbour" }) },
  list_elements: { takes: "read", args: none },
  read_element: { takes: "read", args: ofElement },
  update_element: { takes: "change", args: (of) => ({ ...ofElement(of), changes: { text: "Fog" } }) },
  delete_element: { takes: "change", args: ofElement },
  start_film: { takes: "generate", post: true, args: (of) => ({ ...ofFilm(of), ...FRAME }) },
  estimate_film: { takes: "read", args: (of) => ({ ...ofFilm(of), ...FRAME }) },
  share_film: { takes: "create", post: true, args: ofFilm },
  list_film_shares: { takes: "read", args: ofFilm },
  revoke_film_share: { takes: "change", args: (of) => ({ ...ofFilm(of), share_id: of.share }) },
  list_predictions: { takes: "read", args: ofProject },
  start_prediction: { takes: "generate", post: true, args: (of) => ({ ...ofProject(of), ...FRAME }) },
  read_usage: { takes: "read", args: () => ({}) },
  estimate_prediction: { takes: "read", args: (of) => ({ ...ofProject(of), ...FRAME }) },
  start_quote: { takes: "generate", args: ({ quote }) => ({ quote_id: quote, at_most_micros: 67_000 }) },
  read_prediction: { takes: "read", args: (of) => ({ ...ofProject(of), ...FRAME }) },
  cancel_prediction: {
    takes: "change",
    post: true,
    args: (of) => ({ ...ofProject(of), prediction_id: of.prediction }),
  },
  update_prediction: {
    takes: "change",
    args: (of) => ({ ...ofProject(of), prediction_id: of.prediction, changes: { hidden: true } }),
  },
  delete_prediction: { takes: "change", args: (of) => ({ ...ofProject(of), prediction_id: of.prediction }) },
  list_models: { takes: "read", args: none },
  admit_upload: { takes: "upload", post: true, args: none },
  webhook_health: { takes: "read", args: none },
  create_key: { takes: "create", post: true, args: () => ({ name: "Claude Code", may: "generate" }) },
  list_keys: { takes: "read", args: none },
  revoke_key: { takes: "change", args: ({ key }) => ({ key_id: key }) },
};

/** Those of webhooks, for users and for the secret key. */
export const WEBHOOK_REQUESTS: Record<string, RequestOf> = {
  create_webhook_endpoint: { takes: "create", post: true, args: () => ({ url: "https://receiver.example" }) },
  list_webhook_endpoints: { takes: "read", args: none },
  read_webhook_endpoint: { takes: "read", args: ofEndpoint },
  update_webhook_endpoint: { takes: "change", args: (of) => ({ ...ofEndpoint(of), description: "CRM" }) },
  delete_webhook_endpoint: { takes: "change", args: ofEndpoint },
  reveal_webhook_secret: { takes: "read", args: ofEndpoint },
  rotate_webhook_secret: { takes: "change", post: true, args: (of) => ({ ...ofEndpoint(of), overlap_hours: 0 }) },
  test_webhook_endpoint: { takes: "create", post: true, args: ofEndpoint },
  list_webhook_deliveries: { takes: "read", args: ofEndpoint },
  read_webhook_delivery: { takes: "read", args: ofDelivery },
  redeliver_webhook: { takes: "change", post: true, args: ofDelivery },
  recover_webhook_endpoint: { takes: "change", post: true, args: (of) => ({ ...ofEndpoint(of), since: new Date(0) }) },
};

export const REQUESTS: Record<string, RequestOf> = { ...USER_REQUESTS, ...WEBHOOK_REQUESTS };

/** What a client may be allowed; each has those before it. */
export const CLIENT_RIGHTS = ["read", "generate", "manage"] as const;
export type ClientRight = (typeof CLIENT_RIGHTS)[number];

/** The right that a client needs for a request; null: none is enough. */
export function neededFor(name: string): ClientRight | null {
  if (/_keys?$/.test(name)) return null;
  if (/^delete_|webhook|share/.test(name)) return "manage";
  return REQUESTS[name]?.takes === "read" ? "read" : "generate";
}

export async function addScene(db: ClonedDatabase, owner: string): Promise<Scene> {
  const project = crypto.randomUUID();
  await db.sql`insert into keyframe.projects (id, owner_id, title, text_prompt) values (${project}, ${owner}, 't', 'p')`;
  const { id } = await seedPrediction(db.sql, { owner, project }, { status: "processing" });
  const film = crypto.randomUUID();
  await db.sql`insert into keyframe.films (id, owner_id, title) values (${film}, ${owner}, 't')`;
  const element = crypto.randomUUID();
  await db.sql`
    insert into keyframe.elements (id, owner_id, kind, name, image_paths)
    values (${element}, ${owner}, 'place', 'e', ${[await addReference(db, owner)]})`;
  const share = crypto.randomUUID();
  await db.sql`insert into keyframe_private.film_shares (id, film_id, token_hash) values (${share}, ${film}, sha256(uuid_send(${share})))`;
  const priced = { project_id: project, step: "first-frame", quote: true };
  const { estimate } = await call<{ estimate: { quoteId: string } }>(db, owner, "estimate_prediction", priced);
  const { created } = await call<{ created: { id: string } }>(db, owner, "create_key", {
    name: "A script",
    may: "read",
  });
  const made = { prediction: id, film, element, share, quote: estimate.quoteId, key: created.id };
  return { caller: owner, owner, project, ...made, ...(await addReceiver(db, owner)) };
}

/** A service-wide endpoint, and the secret key as its caller. Only for the requests of webhooks. */
export async function addServiceScene(db: ClonedDatabase): Promise<Scene> {
  const nothing = { owner: "", project: "", prediction: "", film: "", element: "", share: "", quote: "", key: "" };
  return { caller: "service_role", ...nothing, ...(await addReceiver(db, null)) };
}

async function addReceiver(db: ClonedDatabase, owner: string | null): Promise<{ endpoint: string; delivery: string }> {
  const endpoint = await addEndpoint(db.sql, owner);
  const [delivery = ""] = await seedDeliveries(db.sql, endpoint, 1);
  return { endpoint, delivery };
}

/** Makes a request; `key` are its Idempotency-Key and the hash of what it asks for. */
export async function makeRequest<T = Record<string, unknown>>(
  db: ClonedDatabase,
  scene: Scene,
  name: string,
  key: { idempotency_key?: string; request_hash?: string } = {},
): Promise<T> {
  const request = REQUESTS[name];
  if (!request) throw new Error(`There is no request ${name}.`);
  return await call<T>(db, scene.caller, name, { ...request.args(scene), ...key });
}
