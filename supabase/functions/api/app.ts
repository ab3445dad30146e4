import { type Context, Hono } from "hono";
import { STEPS } from "../../../shared/contract/fields.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { Needs, UserHandler } from "./call.ts";
import { internal } from "./failures.ts";
import { cancelPrediction, readPrediction, startPrediction } from "./generate.ts";
import { readHealth } from "./health.ts";
import { logRequest } from "./log-request.ts";
import { createProject } from "./projects.ts";
import { uploadReferenceImage } from "./reference-images.ts";
import { requestIdOf } from "./request-id.ts";
import { type Answer, respond, respondToPreflight, respondWithError } from "./respond.ts";

/** Kept for the log line of the request, beside its identifier. */
type Env = { Variables: { requestId: string; route?: string; ownerId?: string } };

type Handlers = { GET?: UserHandler; POST?: UserHandler } | { public: { GET: (needs: Needs) => Promise<Answer> } };

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

  const route = (path: string, handlers: Handlers) =>
    app.all(`/api${path}`, async (c) => {
      c.set("route", `/api${path}`);
      return respond(c.var.requestId, await answer(c, handlers, needs));
    });
  route("/health", { public: { GET: readHealth } });
  route("/projects", { POST: createProject });
  route("/projects/reference-images", { POST: uploadReferenceImage });
  route("/projects/generate/cancel", { POST: cancelPrediction });
  for (const step of STEPS) {
    route(`/projects/generate/${step}`, { GET: readPrediction(step), POST: startPrediction(step) });
  }
  return app;
}

async function answer(c: Context<Env>, handlers: Handlers, needs: Needs): Promise<Answer> {
  const method = c.req.method === "HEAD" ? "GET" : c.req.method;
  if ("public" in handlers) {
    if (method !== "GET") throw notAllowed(["GET"]);
    return handlers.public.GET(needs);
  }
  const handler = method === "GET" || method === "POST" ? handlers[method] : undefined;
  if (handler === undefined) throw notAllowed(Object.keys(handlers));
  const request = c.req.raw;
  const session = await needs.verifySession(request.headers.get("authorization"));
  c.set("ownerId", session.ownerId);
  return handler({ request, url: new URL(request.url), session }, needs);
}

function notAllowed(methods: string[]): ApiError {
  const allow = methods.map((method) => (method === "GET" ? "GET, HEAD" : method)).join(", ");
  return new ApiError("method_not_allowed", `This path takes ${allow} only.`, {
    headers: { Allow: `${allow}, OPTIONS` },
  });
}
