import type { SessionTokens } from "./session-tokens.ts";

export interface Keys {
  publishableKey: string;
  secretKey: string;
}

/** Paths of Auth that a browser opens from a link, without a key. */
const OPEN_AUTH_PATHS = /^\/auth\/v1\/(callback|authorize|verify|\.well-known\/.*)$/;

/**
 * Checks the request's credentials and converts them for lite: `apikey` is one of the two keys, `authorization` a token signed
 * for lite, and each may be absent. A wrong credential is refused, never treated as absent.
 *
 * @param headers the request's headers, changed in place
 * @returns the refusal, or undefined when the request may go on
 */
export async function identifyCaller(
  service: Service,
  url: URL,
  headers: Headers,
  keys: Keys,
  tokens: SessionTokens,
): Promise<Response | undefined> {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const bearerIsKey = bearer?.startsWith("sb_") === true;
  const key = headers.get("apikey") ?? url.searchParams.get("apikey") ?? (bearerIsKey ? bearer : undefined);
  url.searchParams.delete("apikey");
  headers.delete("apikey");
  if (headers.has("authorization") && bearer === undefined) return invalidToken(service, "invalid");
  headers.delete("authorization");

  if (key === undefined || key === null) {
    // Storage serves public files and signed URLs to anyone.
    if (service !== "storage" && !OPEN_AUTH_PATHS.test(url.pathname)) return missingApiKey();
  } else {
    if (key !== keys.publishableKey && key !== keys.secretKey) return invalidApiKey();
    headers.set("apikey", key);
  }
  if (bearer === undefined || bearer === key) return undefined;
  if (bearerIsKey) return invalidToken(service, "invalid");
  const verdict = await tokens.verify(bearer);
  if (!verdict.ok) return invalidToken(service, verdict.reason);
  headers.set("authorization", `Bearer ${verdict.token.liteToken}`);
  return undefined;
}

/** The services, each with its own form of an error. */
export type Service = "auth" | "rest" | "storage";

const missingApiKey = () =>
  Response.json(
    { message: "No API key found in request", hint: "No `apikey` request header or url param was found." },
    { status: 401, headers: { "sb-error-code": "UNAUTHORIZED_MISSING_API_KEY" } },
  );

const invalidApiKey = () =>
  Response.json(
    { message: "Invalid API key", hint: "Double check your Supabase `anon` or `service_role` API key." },
    { status: 401, headers: { "sb-error-code": "UNAUTHORIZED_INVALID_API_KEY" } },
  );

/** For a bearer token that is expired or was not issued here. Auth answers 403, the others 401, as hosted. */
function invalidToken(service: Service, reason: "expired" | "invalid"): Response {
  const expired = reason === "expired";
  if (service === "auth") {
    const why = expired ? "token is expired" : "signature is invalid";
    const msg = `invalid JWT: unable to parse or verify signature, ${why}`;
    return Response.json({ code: 403, error_code: "bad_jwt", msg }, { status: 403 });
  }
  if (service === "storage") {
    const message = expired ? '"exp" claim timestamp check failed' : "signature verification failed";
    return Response.json({ statusCode: "401", error: "Unauthorized", message }, { status: 401 });
  }
  return Response.json(
    expired
      ? { code: "PGRST303", message: "JWT expired", details: null, hint: null }
      : {
          code: "PGRST301",
          message: "No suitable key or wrong key type",
          details: "None of the keys was able to decode the JWT",
          hint: null,
        },
    { status: 401, headers: { "www-authenticate": "Bearer" } },
  );
}

export function unavailable(service: Service): Response {
  const message = "The database is not available. Try again in a moment.";
  const body = {
    auth: { code: 503, error_code: "unexpected_failure", msg: message },
    rest: { code: "PGRST001", message, details: null, hint: null },
    storage: { statusCode: "503", error: "DatabaseUnavailable", message },
  }[service];
  return Response.json(body, { status: 503, headers: { "retry-after": "1" } });
}

export function bodyTooLarge(service: Service, limit: number): Response {
  const message = `The request is larger than ${limit} bytes.`;
  const body = {
    auth: { code: 413, error_code: "request_too_large", msg: message },
    rest: { code: "PGRST102", message, details: null, hint: null },
    storage: objectTooLarge,
  }[service];
  return Response.json(body, { status: 413 });
}

export const objectTooLarge = {
  statusCode: "413",
  error: "Payload too large",
  message: "The object exceeded the maximum allowed size",
};

/** The cause is in the log, not in the response. */
export const unexpected = () => Response.json({ message: "An unexpected error occurred" }, { status: 500 });

const METHODS = "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT";

/** Allows browsers to call Auth, REST and Storage from any origin. */
export function preflight(request: Request): Response {
  return new Response(null, {
    status: 200,
    headers: {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": request.headers.get("access-control-request-headers") ?? "*",
      "access-control-max-age": "3600",
    },
  });
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
export const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

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
