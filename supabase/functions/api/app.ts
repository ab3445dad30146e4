import { type Context, Hono } from "hono";
import { getPath } from "hono/utils/url";
import { METRICS_TYPE } from "../../../shared/contract/openapi/metrics.ts";
import { OPERATIONS, type OperationId } from "../../../shared/contract/operations/index.ts";
import type { Operation } from "../../../shared/contract/operations/operation.ts";
import { ApiError } from "../../../shared/http/errors.ts";
import type { Answer, Caller, Needs } from "./call.ts";
import { internal } from "./failures.ts";
import { HANDLERS } from "./routes/handlers.ts";
import { withKnownMethod } from "./http/known-method.ts";
import { logRequest } from "./http/log-request.ts";
import { readMetrics } from "./routes/metrics.ts";
import { type AnyCall, readCall } from "./http/read-call.ts";
import { requestIdOf } from "./http/request-id.ts";
import { respond, respondToPreflight, respondWithDocument, respondWithError } from "./http/respond.ts";
import { listRoutes } from "./routes/routes.ts";

/** Kept for the log line of the request, beside its identifier. */
type Env = { Variables: { requestId: string; route?: string; ownerId?: string } };

/**
 * The name of the function when it is not deployed as `api`: the platform puts it before the path, as in /films/api/projects.
 * Empty for `api`, whose name is the beginning of the path itself.
 */
const mountOf = (path: string): string => /^\/(?!api\/)[^/]+(?=\/api\/)/.exec(path)?.[0] ?? "";

/** The API, below /api. Every response is an envelope (but openapi.json and metrics), and every request one line in the log. */
export function createApp(needs: Needs): { fetch: (request: Request) => Response | Promise<Response> } {
  const app = new Hono<Env>({
    getPath: (request) => {
      const path = getPath(request);
      return path.slice(mountOf(path).length);
    },
  });

  app.use(async (c, next) => {
    const began = performance.now();
    const requestId = requestIdOf(c.req.raw);
    c.set("requestId", requestId);
    if (c.req.method === "OPTIONS") c.res = respondToPreflight(requestId);
    else await next();
    const [route, ownerId] = [c.get("route"), c.get("ownerId")]; // c.var is made anew each time
    const milliseconds = performance.now() - began;
    const { method } = c.req;
    logRequest(needs.log, { requestId, method, route, status: c.res.status, ownerId, milliseconds, error: c.error });
  });
  const answerError = (error: Error, c: Context<Env>) => {
    c.error = error; // where the log line finds it
    return respondWithError(c.get("requestId"), error instanceof ApiError ? error : internal(error));
  };
  app.onError(answerError);
  app.notFound((c) => answerError(new ApiError("not_found", "There is nothing at this path. Check its spelling."), c));

  for (const { at, pattern, operations } of listRoutes()) {
    app.all(`/api${pattern}`, async (c) => {
      c.set("route", `/api${at}`);
      const method = c.req.method === "HEAD" ? "GET" : c.req.method;
      const id = operations[method];
      if (id === undefined) throw notAllowed(Object.keys(operations));
      const operation: Operation = OPERATIONS[id];
      const caller = await identify(operation, c.req.raw.headers, needs);
      if (caller.ownerId !== null) c.set("ownerId", caller.ownerId);
      const path = (name: string) => c.req.param(name) ?? "";
      const call = await readCall(operation, c.req.raw, caller, path, needs.readBody);
      return respond(c.get("requestId"), operation.status, await handle(id, call, needs));
    });
  }
  const document = (at: string, contentType: string, read: (request: Request) => string | Promise<string>) =>
    app.all(at, async (c) => {
      c.set("route", at);
      if (!["GET", "HEAD"].includes(c.req.method)) throw notAllowed(["GET"]);
      return respondWithDocument(c.get("requestId"), await read(c.req.raw), contentType);
    });
  document("/api/openapi.json", "application/json", (request) => needs.openApi(mountOf(getPath(request))));
  document("/api/metrics", METRICS_TYPE, (request) => readMetrics(request.headers, needs));
  return { fetch: (request) => app.fetch(withKnownMethod(request)) };
}

/** Says who calls, or throws unauthorized. */
async function identify({ caller }: Operation, headers: Headers, needs: Needs): Promise<Caller> {
  if (caller === "nobody") return { ownerId: null, token: null };
  return caller === "manager" ? needs.verifyManager(headers) : needs.verifySession(headers.get("authorization"));
}

/** The one place where types are lost: a call was read by the schemas of the very operation whose handler takes it. */
function handle(id: OperationId, call: AnyCall, needs: Needs): Promise<Answer> {
  const handler = HANDLERS[id] as (call: AnyCall, needs: Needs) => Promise<Answer>;
  return handler(call, needs);
}

function notAllowed(methods: string[]): ApiError {
  const known = ["GET", "POST", "PATCH", "DELETE"].filter((method) => methods.includes(method));
  const allow = known.map((method) => (method === "GET" ? "GET, HEAD" : method)).join(", ");
  return new ApiError("method_not_allowed", `This path takes ${allow} only.`, {
    headers: { Allow: `${allow}, OPTIONS` },
  });
}
