import type { ClonedDatabase } from "./clone-database.ts";
import { seedPrediction, type World } from "./predictions.ts";
import { addEndpoint, type Caller, call, seedDeliveries } from "./webhooks.ts";

/** What requests are about: a project with a running prediction, and an endpoint with a delivery. */
export type Scene = World & { caller: Caller; prediction: string; endpoint: string; delivery: string };
type Args = Record<string, string | number | boolean | object>;

/** A function that the api function calls for a caller: which token it takes, and whether it serves a POST. */
export type RequestOf = {
  takes: "create" | "generate" | "upload" | "change" | "read";
  post?: true;
  args: (scene: Scene) => Args;
};

/** Those of projects and predictions, and the glance at webhooks: for users alone. */
const USER_REQUESTS: Record<string, RequestOf> = {
  create_project: { takes: "create", post: true, args: () => ({ title: "Harbour", text_prompt: "A harbour at dawn" }) },
  list_projects: { takes: "read", args: () => ({}) },
  read_project: { takes: "read", args: ({ project }) => ({ project_id: project }) },
  update_project: {
    takes: "change",
    args: ({ project }) => ({ project_id: project, changes: { title: "Harbour II" } }),
  },
  delete_project: { takes: "change", args: ({ project }) => ({ project_id: project }) },
  list_predictions: { takes: "read", args: ({ project }) => ({ project_id: project }) },
  start_prediction: {
    takes: "generate",
    post: true,
    args: ({ project }) => ({ project_id: project, step: "first-frame" }),
  },
  read_prediction: { takes: "read", args: ({ project }) => ({ project_id: project, step: "first-frame" }) },
  cancel_prediction: {
    takes: "change",
    post: true,
    args: ({ project, prediction }) => ({ project_id: project, prediction_id: prediction }),
  },
  admit_upload: { takes: "upload", post: true, args: () => ({}) },
  webhook_health: { takes: "read", args: () => ({}) },
};

/** Those of webhooks, for users and for the secret key. */
export const WEBHOOK_REQUESTS: Record<string, RequestOf> = {
  create_webhook_endpoint: { takes: "create", post: true, args: () => ({ url: "https://receiver.example" }) },
  list_webhook_endpoints: { takes: "read", args: () => ({}) },
  read_webhook_endpoint: { takes: "read", args: ({ endpoint }) => ({ endpoint_id: endpoint }) },
  update_webhook_endpoint: {
    takes: "change",
    args: ({ endpoint }) => ({ endpoint_id: endpoint, description: "CRM" }),
  },
  delete_webhook_endpoint: { takes: "change", args: ({ endpoint }) => ({ endpoint_id: endpoint }) },
  reveal_webhook_secret: { takes: "read", args: ({ endpoint }) => ({ endpoint_id: endpoint }) },
  rotate_webhook_secret: {
    takes: "change",
    post: true,
    args: ({ endpoint }) => ({ endpoint_id: endpoint, overlap_hours: 0 }),
  },
  test_webhook_endpoint: { takes: "create", post: true, args: ({ endpoint }) => ({ endpoint_id: endpoint }) },
  list_webhook_deliveries: { takes: "read", args: ({ endpoint }) => ({ endpoint_id: endpoint }) },
  read_webhook_delivery: { takes: "read", args: ({ delivery }) => ({ delivery_id: delivery }) },
  redeliver_webhook: { takes: "change", post: true, args: ({ delivery }) => ({ delivery_id: delivery }) },
  recover_webhook_endpoint: {
    takes: "change",
    post: true,
    args: ({ endpoint }) => ({ endpoint_id: endpoint, since: new Date(0) }),
  },
};

export const REQUESTS: Record<string, RequestOf> = { ...USER_REQUESTS, ...WEBHOOK_REQUESTS };

export async function addScene(db: ClonedDatabase, owner: string): Promise<Scene> {
  const project = crypto.randomUUID();
  await db.sql`insert into keyframe.projects (id, owner_id, title, text_prompt) values (${project}, ${owner}, 't', 'p')`;
  const { id } = await seedPrediction(db.sql, { owner, project }, { status: "processing" });
  return { caller: owner, owner, project, prediction: id, ...(await addReceiver(db, owner)) };
}

/** A service-wide endpoint, and the secret key as its caller. Only for the requests of webhooks. */
export async function addServiceScene(db: ClonedDatabase): Promise<Scene> {
  const nothing = { owner: "", project: "", prediction: "" };
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
