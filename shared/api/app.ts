import { type Context, Hono } from "hono";
import { getPath } from "hono/utils/url";
import { OPERATIONS } from "../contract/operations/index.ts";
import type { Operation } from "../contract/operations/operation.ts";
import { METRICS_TYPE } from "../contract/service.ts";
import { ApiError, readRequestId } from "../http/errors.ts";
import type { Log } from "../platform/log.ts";
import { ACTING_FOR } from "./auth/project-key.ts";
import { type Caller, NOBODY } from "./auth/verify-session.ts";
import { internal } from "./errors.ts";
import { type AnyCall, readCall } from "./http/read-call.ts";
import { type Answer, respond, respondToPreflight, respondWithDocument, respondWithError } from "./http/respond.ts";
import type { Deps } from "./routes/handler.ts";
import { readMetrics } from "./routes/metrics.ts";
import { explainNotFound, HANDLERS, ROUTES } from "./routes/routes.ts";

/** Log fields. `route` is the pattern, never the path, which can contain anything. `clientId` is the OAuth client that acted for the owner. */
type Env = { Variables: { requestId: string; route?: string; ownerId?: string; clientId?: string; actor?: "server" } };

/**
 * The path prefix of the function. The platform puts the function's name before the path, as in /films/api/projects.
 * The prefix is empty for the name `api`.
 */
const mountOf = (path: string): string => /^\/(?!api\/)[^/]+(?=\/api\/)/.exec(path)?.[0] ?? "";

/** The API below /api. Every response except openapi.json and metrics is an envelope; every request writes one log line. */
export function createApp(deps: Deps): { fetch: (request: Request) => Response | Promise<Response> } {
  const app = new Hono<Env>({
    getPath: (request) => {
      const path = getPath(request);
      return path.slice(mountOf(path).length);
    },
  });

  app.use(async (c, next) => {
    const began = performance.now();
    const requestId = readRequestId(c.req.raw);
    c.set("requestId", requestId);
    if (c.req.method === "OPTIONS") c.res = respondToPreflight(requestId);
    else await next();
    const { requestId: _, route, ...who } = c.var;
    const duration_ms = Math.round((performance.now() - began) * 10) / 10;
    const fields = { requestId, method: c.req.method, route, status: c.res.status, ...who, duration_ms };
    logRequest(deps.log, fields, c.error);
  });
  const answerError = async (error: Error, c: Context<Env>) => {
    c.error = error; // for the log line
    const ownerId = c.get("ownerId");
    if (ownerId !== undefined && error instanceof ApiError && error.code === "rate_limited")
      await deps.refusals.hold(ownerId, c.req.raw.signal);
    return respondWithError(c.get("requestId"), error instanceof ApiError ? error : internal(error));
  };
  app.onError(answerError);
  app.notFound((c) => answerError(new ApiError("not_found", explainNotFound(c.req.path.replace(/^\/api/, ""))), c));

  for (const { at, pattern, operations } of ROUTES) {
    app.all(`/api${pattern}`, async (c) => {
      c.set("route", `/api${at}`);
      const method = c.req.method === "HEAD" ? "GET" : c.req.method;
      const id = operations[method];
      if (id === undefined) throw notAllowed(Object.keys(operations));
      const operation: Operation = OPERATIONS[id];
      const caller = await identify(operation, c.req.raw.headers, deps);
      if (caller.ownerId !== null) c.set("ownerId", caller.ownerId);
      if (caller.clientId !== undefined) c.set("clientId", caller.clientId);
      if (caller.by === "server") c.set("actor", "server");
      const path = (name: string) => c.req.param(name) ?? "";
      const call = await readCall(operation, c.req.raw, caller, path, deps.readBody);
      // readCall validated the call with the schemas of the operation that this handler serves.
      const handle = HANDLERS[id] as (call: AnyCall, deps: Deps) => Promise<Answer>;
      return respond(c.get("requestId"), operation.status, await handle(call, deps));
    });
  }
  const document = (at: string, contentType: string, read: (request: Request) => string | Promise<string>) =>
    app.all(at, async (c) => {
      c.set("route", at);
      if (!["GET", "HEAD"].includes(c.req.method)) throw notAllowed(["GET"]);
      return respondWithDocument(c.get("requestId"), await read(c.req.raw), contentType);
    });
  document("/api/openapi.json", "application/json", (request) => deps.openApi(mountOf(getPath(request))));
  document("/api/metrics", METRICS_TYPE, (request) => readMetrics(request.headers, deps));
  return { fetch: (request) => app.fetch(withKnownMethod(request)) };
}

/** Returns the caller. Throws unauthorized, key_ended, rate_limited; forbidden and invalid_request for a request with Keyframe-User. */
async function identify({ caller }: Operation, headers: Headers, deps: Deps): Promise<Caller> {
  if (caller === "nobody") return NOBODY;
  if (caller === "server" && !headers.has(ACTING_FOR)) await deps.verifyProject(headers); // a wrong key is refused before a missing Keyframe-User
  if (caller === "server" || headers.has(ACTING_FOR)) return deps.verifyServer(headers);
  return caller === "manager" ? deps.verifyManager(headers) : deps.verifyUser(headers);
}

function notAllowed(methods: string[]): ApiError {
  const known = ["GET", "POST", "PATCH", "DELETE"].filter((method) => methods.includes(method));
  const allow = known.map((method) => (method === "GET" ? "GET, HEAD" : method)).join(", ");
  return new ApiError("method_not_allowed", `This path supports only ${allow}.`, {
    headers: { Allow: `${allow}, OPTIONS` },
  });
}

const KNOWN = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Replaces an unknown method by OTHER. A method can be any word: `constructor` would break the router, and no such word may reach the log. */
const withKnownMethod = (request: Request): Request =>
  KNOWN.includes(request.method) ? request : new Request(request.url, { method: "OTHER", headers: request.headers });

/** Writes one line per request, without tokens, bodies or signed URLs. Our own errors are logged with their cause. */
function logRequest(log: Log, fields: Record<string, unknown>, error: Error | undefined): void {
  if (error === undefined) log.info("request", fields);
  else if (!(error instanceof ApiError)) log.error("request", { ...fields, code: "internal", cause: plain(error) });
  else {
    const { cause } = error.extra;
    const level = error.status >= 500 ? "error" : "info";
    log[level]("request", { ...fields, code: error.code, cause: cause instanceof Error ? plain(cause) : cause });
  }
}

const plain = ({ name, message, stack }: Error) => ({ name, message, stack });
