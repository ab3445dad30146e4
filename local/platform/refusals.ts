import { connectionLost, respondWith } from "./rest/error.ts";
import type { RestCaller } from "./rest/token.ts";
import type { SessionTokens } from "./session-tokens.ts";

interface Keys {
  publishableKey: string;
  secretKey: string;
}

/** The services, each with its own form of an error. */
export type Service = "auth" | "rest" | "storage";

/** Paths of Auth that a browser opens from a link, without a key. */
const OPEN_AUTH_PATHS = /^\/auth\/v1\/(callback|authorize|verify|\.well-known\/.*)$/;

/**
 * Checks the request's credentials and converts them for lite: `apikey` is one of the two keys, `authorization` a token signed
 * for lite, and each may be absent. A wrong credential is refused, never treated as absent.
 *
 * @param headers the request's headers, changed in place
 * @returns the refusal, or who asks; of Auth and Storage only lite knows more than the key
 */
export async function identifyCaller(
  service: Service,
  url: URL,
  headers: Headers,
  keys: Keys,
  tokens: SessionTokens,
): Promise<Response | RestCaller> {
  const token = service === "rest" ? /^Bearer +(.+)$/i : /^Bearer +(\S+)$/i;
  const bearer = token.exec(headers.get("authorization") ?? "")?.[1];
  const bearerIsKey = bearer?.startsWith("sb_") === true;
  const key = headers.get("apikey") ?? url.searchParams.get("apikey") ?? (bearerIsKey ? bearer : undefined);
  url.searchParams.delete("apikey");
  headers.delete("apikey");
  // PostgREST ignores what is no Bearer token.
  if (headers.has("authorization") && bearer === undefined && service !== "rest")
    return invalidToken(service, "invalid");
  headers.delete("authorization");

  if (key === undefined || key === null) {
    // Storage serves public files and signed URLs to anyone.
    if (service !== "storage" && !OPEN_AUTH_PATHS.test(url.pathname)) {
      const hint = "No `apikey` request header or url param was found.";
      return keyRefused("UNAUTHORIZED_MISSING_API_KEY", "No API key found in request", hint);
    }
  } else {
    if (key !== keys.publishableKey && key !== keys.secretKey) {
      const hint = "Double check your Supabase `anon` or `service_role` API key.";
      return keyRefused("UNAUTHORIZED_INVALID_API_KEY", "Invalid API key", hint);
    }
    headers.set("apikey", key);
  }
  const role = key === keys.secretKey ? "service_role" : "anon";
  if (bearer === undefined || bearer === key) return { role, claims: { role } };
  if (service === "rest") {
    const caller = await tokens.readForRest(bearer);
    if ("status" in caller) return respondWith(caller);
    headers.set("authorization", `Bearer ${await tokens.ofRole(caller.role)}`);
    return caller;
  }
  if (bearerIsKey) return invalidToken(service, "invalid");
  const forLite = await tokens.toLite(bearer);
  if (forLite === "expired" || forLite === "invalid") return invalidToken(service, forLite);
  headers.set("authorization", `Bearer ${forLite}`);
  return { role, claims: { role } };
}

const keyRefused = (code: string, message: string, hint: string) =>
  Response.json({ message, hint }, { status: 401, headers: { "sb-error-code": code } });

/** For a bearer token that is expired or was not issued here. Auth answers 403, Storage 401, as hosted. */
function invalidToken(service: Exclude<Service, "rest">, reason: "expired" | "invalid"): Response {
  const expired = reason === "expired";
  if (service === "auth") {
    const why = expired ? "token is expired" : "signature is invalid";
    const msg = `invalid JWT: unable to parse or verify signature, ${why}`;
    return Response.json({ code: 403, error_code: "bad_jwt", msg }, { status: 403 });
  }
  const message = expired ? '"exp" claim timestamp check failed' : "signature verification failed";
  return Response.json({ statusCode: "401", error: "Unauthorized", message }, { status: 401 });
}

export function unavailable(service: Service): Response {
  if (service === "rest") return respondWith(connectionLost());
  const message = "The database is not available. Try again in a moment.";
  const body = {
    auth: { code: 503, error_code: "unexpected_failure", msg: message },
    storage: { statusCode: "503", error: "DatabaseUnavailable", message },
  }[service];
  return Response.json(body, { status: 503, headers: { "retry-after": "1" } });
}

/** As PostgREST answers every request while its schema cache cannot be read. */
export function noSchemaCache(): Response {
  const message = "Could not query the database for the schema cache. Retrying.";
  return Response.json({ code: "PGRST002", message, details: null, hint: null }, { status: 503 });
}

/** Allows browsers to call Auth, REST and Storage from any origin. */
export function preflight(request: Request): Response {
  const headers = {
    "access-control-allow-methods": "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT",
    "access-control-allow-headers": request.headers.get("access-control-request-headers") ?? "*",
    "access-control-max-age": "3600",
  };
  return new Response(null, { headers });
}

/** Lets a page of any origin read the response and the headers that supabase-js needs. */
export function allowAnyOrigin(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set("access-control-allow-origin", "*");
  headers.delete("access-control-allow-credentials");
  const expose =
    "Content-Range, Content-Location, Preference-Applied, Content-Encoding, X-Total-Count, Location, Sb-Error-Code";
  headers.set("access-control-expose-headers", expose);
  return new Response(response.body, { status: response.status, headers });
}

/** The names of this machine itself. Any other name could be of a foreign site, whose scripts would have the page's origin. */
const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** Answers a request for a page that is only for this machine and only for reading. */
export async function callPage(
  request: Request,
  url: URL,
  answer: () => Response | Promise<Response>,
): Promise<Response> {
  if (!LOOPBACK_NAMES.has(url.hostname)) return new Response("This page is for this machine only.", { status: 403 });
  if (request.method !== "GET" && request.method !== "HEAD") {
    await request.body?.cancel();
    return new Response("This page can only be read.", { status: 405, headers: { allow: "GET, HEAD" } });
  }
  const response = await answer();
  return request.method === "HEAD" ? new Response(null, response) : response;
}
