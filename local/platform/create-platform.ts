import { allowAnyOrigin, preflight } from "./any-origin.ts";
import { answerWellKnown, callAuth } from "./auth-route.ts";
import { createLite } from "./create-lite.ts";
import { callDashboard, type DashboardOptions, isDashboardPath } from "./dashboard-page.ts";
import { createFunctionsRoute } from "./functions-route.ts";
import { identifyCaller } from "./identify-caller.ts";
import { log } from "./log.ts";
import { callMail, type Mail } from "./mail-page.ts";
import type { LiteOptions } from "./open-pool.ts";
import { DatabaseUnavailable } from "./platform-connection.ts";
import { callRest } from "./rest-route.ts";
import { createSessionTokens, type SigningKey } from "./session-tokens.ts";
import { withStorageFault } from "./storage-faults.ts";
import { callStorage } from "./storage-route.ts";
import { noSchemaCache, type Service, unavailable } from "./unavailable.ts";

export type PlatformOptions = Omit<LiteOptions, "sendMail"> & {
  signingKey: SigningKey;
  /** For fault tests, see storage-faults.ts. */
  storageFaultFile?: string | undefined;
  /** Name of an edge function → its address. */
  functions: Record<string, string>;
  /** Served at `/`. */
  dashboard?: Omit<DashboardOptions, "publishableKey" | "publicUrl">;
};

const MAILS_KEPT = 50;

const INDEX = `Auth       /auth/v1
REST       /rest/v1
Storage    /storage/v1
Functions  /functions/v1
Mail       /mail
OpenAPI    /functions/v1/api/openapi.json
`;

/** The local counterpart of the hosted gateway: Auth, REST and Storage by lite, a proxy to the functions, dashboard and mail. */
export async function createPlatform(options: PlatformOptions) {
  const { publicUrl, publishableKey, signingKey, liteSecret, storageFaultFile } = options;
  const tokens = await createSessionTokens({ key: signingKey, issuer: `${publicUrl}/auth/v1`, liteSecret });
  const secret = new TextEncoder().encode(liteSecret);
  const callFunction = createFunctionsRoute(options.functions, publicUrl);
  /** The emails, newest first. */
  let mails: Mail[] = [];
  const sendMail = (mail: Omit<Mail, "at">) => {
    mails = [{ ...mail, at: new Date() }, ...mails].slice(0, MAILS_KEPT);
  };
  const lite = createLite({ ...options, sendMail });

  async function callService(service: Service, request: Request, url: URL): Promise<Response> {
    const { method, body } = request;
    if (method === "OPTIONS") return preflight(request);
    const wellKnown = answerWellKnown(url.pathname, signingKey);
    if (wellKnown) return wellKnown;
    const headers = new Headers(request.headers);
    const caller = await identifyCaller(service, url, headers, options, tokens);
    if (caller instanceof Response) {
      await body?.cancel();
      return caller;
    }
    if (service === "rest") {
      if (await lite.hasExposedSchemas()) return await callRest(request, url, headers, caller, lite);
      await body?.cancel();
      return noSchemaCache();
    }
    if (service === "storage") {
      const store = () => callStorage(request, url, headers, lite, secret);
      return await (storageFaultFile === undefined ? store() : withStorageFault(storageFaultFile, request, store));
    }
    return await callAuth(request, url, headers, lite, tokens);
  }

  async function route(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const path = url.pathname;
    if (options.dashboard && isDashboardPath(path)) {
      return await callDashboard(request, url, { ...options.dashboard, publishableKey, publicUrl });
    }
    if (path === "/") return new Response(INDEX);
    if (path.startsWith("/functions/v1/")) return await callFunction(request, url);
    if (/^\/mail(\/|$)/.test(path)) return await callMail(request, url, mails);
    const service = path.startsWith("/.well-known/oauth-authorization-server")
      ? "auth"
      : (/^\/(auth|rest|storage)\/v1(\/|$)/.exec(path)?.[1] as Service | undefined); // the expression has no others
    if (service) return allowAnyOrigin(await guard(service, () => callService(service, request, url)));
    return Response.json({ message: "no Route matched with those values" }, { status: 404 });
  }

  return { fetch: route, close: () => lite.close() };
}

/** No failed request may end the process; without a database the answer is 503. The cause of any other failure is only in the log. */
async function guard(service: Service, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return unavailable(service);
    log("error", "request failed", { service, error: String(error) });
    return Response.json({ message: "An unexpected error occurred" }, { status: 500 });
  }
}
