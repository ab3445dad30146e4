import { type Context, Hono } from "hono";
import { STEPS } from "../../../shared/contract/fields.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { Caller, Needs, UserHandler } from "./call.ts";
import { internal } from "./failures.ts";
import { cancelPrediction, readPrediction, startPrediction } from "./generate.ts";
import { readHealth } from "./health.ts";
import { logRequest } from "./log-request.ts";
import { createProject } from "./projects.ts";
import { uploadReferenceImage } from "./reference-images.ts";
import { requestIdOf } from "./request-id.ts";
import { type Answer, respond, respondToPreflight, respondWithError } from "./respond.ts";
import { listDeliveries, recoverWebhook, redeliver, testWebhook } from "./webhook-deliveries.ts";
import { revealSecret, rotateSecret } from "./webhook-secrets.ts";
import { changeWebhook, createWebhook, deleteWebhook, listWebhooks, readWebhook } from "./webhooks.ts";

const METHODS = ["GET", "POST", "PATCH", "DELETE"] as const;

/** What :id of a path must look like; anything else is no path of ours. */
const UUID = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

/** Kept for the log line of the request, beside its identifier. */
type Env = { Variables: { requestId: string; route?: string; ownerId?: string } };

type Handlers =
  | Partial<Record<(typeof METHODS)[number], UserHandler>>
  | { public: { GET: (needs: Needs) => Promise<Answer> } };

/** Says who calls, or throws unauthorized. */
type Identify = (headers: Headers) => Promise<Caller>;

/** The API, below /api. Every response is an envelope, and every request one line in the log. */
export function createApp(needs: Needs): Hono<Env> {
  const app = new Hono<Env>();

  app.use(async (c, next) => {
    const began = performance.now();
    const requestId = requestIdOf(c.req.raw);
    c.set("requestId", requestId);
    if (c.req.method === "OPTIONS") c.res = respondToPreflight(requestId);
    else await next();
    const { route, ownerId } = c.var;
    const milliseconds = performance.now() - began;
    logRequest(needs.log, {
      requestId,
      method: c.req.method,
      route,
      status: c.res.status,
      ownerId,
      milliseconds,
      error: c.error,
    });
  });
  const answerError = (error: Error, c: Context<Env>) => {
    c.error = error; // where the log line finds it
    return respondWithError(c.var.requestId, error instanceof ApiError ? error : internal(error));
  };
  app.onError(answerError);
  app.notFound((c) => answerError(new ApiError("not_found", "There is nothing at this path. Check its spelling."), c));

  const bySession: Identify = (headers) => needs.verifySession(headers.get("authorization"));
  const route = (path: string, handlers: Handlers, identify = bySession) =>
    app.all(`/api${path.replace(":id", `:id{${UUID}}`)}`, async (c) => {
      c.set("route", `/api${path}`);
      return respond(c.var.requestId, await answer(c, handlers, identify, needs));
    });
  route("/health", { public: { GET: readHealth } });
  route("/projects", { POST: createProject });
  route("/projects/reference-images", { POST: uploadReferenceImage });
  route("/projects/generate/cancel", { POST: cancelPrediction });
  for (const step of STEPS) {
    route(`/projects/generate/${step}`, { GET: readPrediction(step), POST: startPrediction(step) });
  }
  const manage = (path: string, handlers: Handlers) => route(`/webhooks${path}`, handlers, needs.verifyManager);
  manage("", { GET: listWebhooks, POST: createWebhook });
  manage("/:id", { GET: readWebhook, PATCH: changeWebhook, DELETE: deleteWebhook });
  manage("/:id/secret", { GET: revealSecret });
  manage("/:id/secret/rotate", { POST: rotateSecret });
  manage("/:id/test", { POST: testWebhook });
  manage("/:id/deliveries", { GET: listDeliveries });
  manage("/:id/recover", { POST: recoverWebhook });
  manage("/deliveries/:id/redeliver", { POST: redeliver });
  return app;
}

async function answer(c: Context<Env>, handlers: Handlers, identify: Identify, needs: Needs): Promise<Answer> {
  const method = c.req.method === "HEAD" ? "GET" : c.req.method;
  if ("public" in handlers) {
    if (method !== "GET") throw notAllowed(["GET"]);
    return handlers.public.GET(needs);
  }
  const known = METHODS.find((one) => one === method);
  const handler = known && handlers[known];
  if (handler === undefined) throw notAllowed(Object.keys(handlers));
  const request = c.req.raw;
  const session = await identify(request.headers);
  if (session.ownerId !== null) c.set("ownerId", session.ownerId);
  return handler({ request, url: new URL(request.url), session, id: c.req.param("id") ?? "" }, needs);
}

function notAllowed(methods: string[]): ApiError {
  const allow = methods.map((method) => (method === "GET" ? "GET, HEAD" : method)).join(", ");
  return new ApiError("method_not_allowed", `This path takes ${allow} only.`, {
    headers: { Allow: `${allow}, OPTIONS` },
  });
}
