import { answerWellKnown, reissueTokens } from "./auth-route.ts";
import { allowAnyOrigin, preflight } from "./cors.ts";
import { createLite, type Lite } from "./create-lite.ts";
import { callDashboard, type DashboardOptions, isDashboardPath } from "./dashboard-route.ts";
import { callDocs } from "./docs-route.ts";
import { createFunctionsRoute } from "./functions-route.ts";
import { identifyCaller } from "./identify-caller.ts";
import { BodyTooLarge, readBody } from "./limit-body.ts";
import { log } from "./log.ts";
import { createMailBox } from "./mail-box.ts";
import { callMail } from "./mail-route.ts";
import { DatabaseUnavailable } from "./platform-connection.ts";
import { bodyTooLarge, type Service, unavailable, unexpected } from "./refusals.ts";
import { changesEveryRow, needsFilter } from "./require-filter.ts";
import { createSessionTokens, type SessionTokens } from "./session-tokens.ts";
import type { SigningKey } from "./signing-key.ts";
import { withStorageFault } from "./storage-faults.ts";
import { callStorage } from "./storage-route.ts";
import { callStudio } from "./studio-route.ts";

export interface PlatformOptions {
  /** A superuser's address of a database that `bootstrapPlatform` has prepared. */
  databaseUrl: string;
  /** Where clients reach the gateway, without a slash at the end; part of every token's `iss`. */
  publicUrl: string;
  signingKey: SigningKey;
  /** HS256, between the gateway and lite only. At least 32 characters. */
  liteSecret: string;
  publishableKey: string;
  secretKey: string;
  /** Where the files of Storage are kept. */
  storageFolder: string;
  /** Where a fault of Storage may be switched on, for tests. */
  storageFaultFile?: string;
  /** Name of an Edge Function → the address it listens on. */
  functions: Record<string, string>;
  /** Served at `/`, where there is one. */
  dashboard?: Omit<DashboardOptions, "publishableKey" | "publicUrl">;
}

export interface Platform {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

const MAX_JSON_BYTES = 10 * 1024 * 1024;

const INDEX = `Auth       /auth/v1
REST       /rest/v1
Storage    /storage/v1
Functions  /functions/v1
Studio     /studio
Mail       /mail
Docs       /docs   a page for people; for tools: /functions/v1/api/openapi.json
`;

/**
 * The hosted project's gateway on this machine: Auth, REST and Storage by lite, the functions behind a proxy, Studio, the docs,
 * the mail.
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
    const wellKnown = answerWellKnown(url.pathname, options.signingKey, issuer);
    if (wellKnown) return wellKnown;
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
    if (path === "/docs" || path.startsWith("/docs/")) return await callDocs(request, url);
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
  const body = await readBody(request, MAX_JSON_BYTES);
  const response = await lite.fetch(new Request(url, { method: request.method, headers, body }));
  return service === "auth" ? await reissueTokens(response, tokens) : response;
}

/** No fault of a request may end the process, and an absent database is an answer, not a fault. */
async function guard(service: Service, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return unavailable(service);
    if (error instanceof BodyTooLarge) return bodyTooLarge(service, MAX_JSON_BYTES);
    log("error", "request failed", { service, error: String(error) });
    return unexpected();
  }
}
