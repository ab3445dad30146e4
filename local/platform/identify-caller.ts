import { invalidApiKey, invalidToken, missingApiKey, type Service } from "./refusals.ts";
import type { SessionTokens } from "./session-tokens.ts";

export interface Keys {
  publishableKey: string;
  secretKey: string;
}

/** Addresses of Auth that a browser opens from a link, without a key. */
const OPEN_AUTH_PATHS = /^\/auth\/v1\/(callback|authorize|verify|\.well-known\/.*)$/;

/**
 * Decides who is calling and puts the request's credentials into the form lite expects: `apikey` one of the two keys,
 * `authorization` a token signed for lite, or neither. A wrong credential is refused, never taken for an absent one.
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
    // Storage serves public files and signed addresses to anybody.
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
