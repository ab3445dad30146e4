import { respondWith } from "./rest/error.ts";
import type { RestCaller } from "./rest/token.ts";
import type { SessionTokens } from "./session-tokens.ts";
import type { Service } from "./unavailable.ts";

type Keys = {
  publishableKey: string;
  secretKey: string;
};

/** Paths of Auth that a browser opens from a link, without a key. */
const OPEN_AUTH_PATHS = /^\/auth\/v1\/(callback|authorize|verify|\.well-known\/.*)$/;

/**
 * Checks the key and the session of a request, and replaces them by those that lite takes. A wrong one is refused, never treated as absent.
 *
 * @param url loses `apikey`
 * @param headers get `apikey`, one of the two keys, and `authorization`, a token signed for lite; either can be absent
 * @returns the refusal, or the caller; for Auth and Storage without the user, whom lite reads from its token
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
  // PostgREST ignores a header that is not a Bearer token.
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

/** Refuses a bearer token that is expired or was not issued here. Auth answers 403, Storage 401, as hosted. */
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
