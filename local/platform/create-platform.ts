import { ApiError } from "../../shared/http/errors.ts";
import { bodyClock, createBodyReader } from "../../shared/http/read-body.ts";
import { createLite, type Lite } from "./create-lite.ts";
import { callDashboard, type DashboardOptions, isDashboardPath } from "./dashboard-page.ts";
import { createFunctionsRoute } from "./functions-route.ts";
import { log } from "./log.ts";
import { callMail, createMailBox } from "./mail-page.ts";
import { DatabaseUnavailable } from "./platform-connection.ts";
import {
  allowAnyOrigin,
  bodyTooLarge,
  identifyCaller,
  preflight,
  type Service,
  unavailable,
  unexpected,
} from "./refusals.ts";
import {
  answerKeySet,
  createSessionTokens,
  reissueTokens,
  type SessionTokens,
  type SigningKey,
} from "./session-tokens.ts";
import { withStorageFault } from "./storage-faults.ts";
import { callStorage } from "./storage-route.ts";
import { callStudio } from "./studio-page.ts";

interface PlatformOptions {
  /** With a superuser, of a database that `bootstrapPlatform` has prepared. */
  databaseUrl: string;
  /** The gateway's URL for clients, without a trailing slash; part of every token's `iss`. */
  publicUrl: string;
  signingKey: SigningKey;
  /** HS256 secret between the gateway and lite, at least 32 characters. */
  liteSecret: string;
  publishableKey: string;
  secretKey: string;
  storageFolder: string;
  /** For fault tests, see storage-faults.ts. */
  storageFaultFile?: string;
  /** Name of an edge function → its address. */
  functions: Record<string, string>;
  /** Served at `/`. */
  dashboard?: Omit<DashboardOptions, "publishableKey" | "publicUrl">;
}

interface Platform {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

const JSON_LIMITS = { maxBytes: 10 * 1024 * 1024, maxMs: 60_000 };
const readBody = createBodyReader({ ...bodyClock, maxTotalBytes: Number.POSITIVE_INFINITY });

const INDEX = `Auth       /auth/v1
REST       /rest/v1
Storage    /storage/v1
Functions  /functions/v1
Studio     /studio
Mail       /mail
Docs       /docs   the dashboard's API reference; for tools: /functions/v1/api/openapi.json
`;

/**
 * The local counterpart of the hosted gateway: Auth, REST and Storage by lite, a proxy to the functions, and the pages Studio,
 * docs and mail.
 */
export async function createPlatform(options: PlatformOptions): Promise<Platform> {
  const issuer = `${options.publicUrl}/auth/v1`;
  const tokens = await createSessionTokens({ key: options.signingKey, issuer, liteSecret: options.liteSecret });
  const secret = new TextEncoder().encode(options.liteSecret);
  const mailBox = createMailBox();
  const callFunction = createFunctionsRoute(options.functions, options.publicUrl);
  const lite = createLite({ ...options, sendMail: mailBox.put });

  async function callService(service: Service, request: Request, url: URL): Promise<Response> {
    if (request.method === "OPTIONS") return preflight(request);
    const keySet = answerKeySet(url.pathname, options.signingKey);
    if (keySet) return keySet;
    const headers = new Headers(request.headers);
    const refusal = await identifyCaller(service, url, headers, options, tokens);
    if (refusal) {
      await request.body?.cancel();
      return refusal;
    }
    if (service === "storage") {
      const store = () => callStorage(request, url, headers, lite, secret);
      const { storageFaultFile: faults } = options;
      return await (faults === undefined ? store() : withStorageFault(faults, request, store));
    }
    return await callJsonService(service, request, url, headers, lite, tokens);
  }

  async function route(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const path = url.pathname;
    if (options.dashboard && isDashboardPath(path)) {
      const { publishableKey, publicUrl } = options;
      return await callDashboard(request, url, { ...options.dashboard, publishableKey, publicUrl });
    }
    if (path === "/") return new Response(INDEX);
    if (path.startsWith("/functions/v1/")) {
      return await callFunction(request, url);
    }
    if (path === "/studio" || path.startsWith("/studio/"))
      return await guard("rest", () => callStudio(request, url, lite, options));
    if (path === "/mail" || path.startsWith("/mail/")) return await callMail(request, url, mailBox);
    if (path === "/docs") return new Response(null, { status: 302, headers: { location: "/#/docs" } });
    const service = /^\/(auth|rest|storage)\/v1(\/|$)/.exec(path)?.[1];
    if (service !== "auth" && service !== "rest" && service !== "storage") {
      return Response.json({ message: "no Route matched with those values" }, { status: 404 });
    }
    return allowAnyOrigin(await guard(service, () => callService(service, request, url)));
  }

  return { fetch: route, close: () => lite.close() };
}

async function callJsonService(
  service: "auth" | "rest",
  request: Request,
  url: URL,
  headers: Headers,
  lite: Lite,
  tokens: SessionTokens,
): Promise<Response> {
  if (service === "rest" && changesEveryRow(request.method, url)) {
    await request.body?.cancel();
    return needsFilter(request.method);
  }
  const body = request.body && (await readBody(request, JSON_LIMITS));
  const send = () => lite.fetch(new Request(url, { method: request.method, headers, body }));
  const sentAt = performance.now();
  let response = await send();
  // A restored dump brings functions, tables and types without a notice: its event triggers come last.
  if (service === "rest" && (await isOfOlderSchema(response)) && lite.forgetSchema(sentAt)) {
    await response.body?.cancel();
    response = await send();
  }
  return service === "auth" ? await reissueTokens(response, tokens) : response;
}

/** Whether REST knows no such function or table, or has prepared a statement with a type that is gone. */
async function isOfOlderSchema(response: Response): Promise<boolean> {
  const { status } = response;
  return (status === 404 || status === 500) && OLDER_SCHEMA.test(await response.clone().text());
}

const OLDER_SCHEMA = /"PGRST20[25]"|"cache lookup failed for type/;

/** No failed request may end the process; without a database the answer is 503. */
async function guard(service: Service, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return unavailable(service);
    if (error instanceof ApiError && error.code === "payload_too_large")
      return bodyTooLarge(service, JSON_LIMITS.maxBytes);
    log("error", "request failed", { service, error: String(error) });
    return unexpected();
  }
}

/** Parameters of a REST URL that do not filter rows. */
const NO_FILTER = new Set(["select", "columns", "order", "limit", "offset", "on_conflict"]);

/** Whether a request would change or delete all rows of a table, which the hosted Data API refuses (safeupdate). */
function changesEveryRow(method: string, url: URL): boolean {
  if (method !== "PATCH" && method !== "DELETE") return false;
  return [...url.searchParams.keys()].every((name) => NO_FILTER.has(name));
}

function needsFilter(method: string): Response {
  const message = `${method === "DELETE" ? "DELETE" : "UPDATE"} requires a WHERE clause`;
  return Response.json({ code: "21000", message, details: null, hint: null }, { status: 400 });
}
