import { type RestError, restRefusal } from "./error.ts";

/** The caller: the role that the request runs as, and what auth.jwt() returns. */
export type RestCaller = { role: string; claims: Record<string, unknown> };

/** How much the clocks of Auth and PostgREST may differ. */
const SKEW_SECONDS = 30;
const NO_KEY = "No suitable key or wrong key type";

/**
 * Reads a session token as PostgREST does: it asks for one key of the JWKS and for times that fit, and for no issuer, audience or role. It
 * ignores `crit`, and takes a token without `kid`.
 *
 * @param kid of the only key
 */
export async function readRestToken(
  token: string,
  { key, kid, now }: { key: CryptoKey; kid: string; now: Date },
): Promise<RestCaller | RestError> {
  const parts = token.split(".");
  if (parts.length !== 3) return refused("PGRST301", `Expected 3 parts in JWT; got ${parts.length}`);
  const [head = "", payload = "", signature = ""] = parts;
  const header = readObject(head);
  if (header?.alg === "none") {
    return refused(
      "PGRST301",
      "Wrong or unsupported encoding algorithm",
      "JWT is unsecured but expected 'alg' was not 'none'",
    );
  }
  if (header?.alg !== "ES256" || (header.kid !== undefined && header.kid !== kid))
    return refused("PGRST301", NO_KEY, "No suitable key was found to decode the JWT");
  const signed = new TextEncoder().encode(`${head}.${payload}`);
  if (!(await isSignature(signature, signed, key)))
    return refused("PGRST301", NO_KEY, "None of the keys was able to decode the JWT");
  const claims = readObject(payload);
  if (claims === undefined) return refused("PGRST303", "Parsing claims failed");
  const wrong = whatIsWrong(claims, now.getTime() / 1000);
  if (wrong !== undefined) return refused("PGRST303", wrong);
  const { role = "anon" } = claims;
  const name = typeof role === "string" ? role : JSON.stringify(role);
  return { role: name, claims: { ...claims, role: name } };
}

const refused = (code: string, message: string, details?: string): RestError => {
  const refusal = restRefusal(401, code, message, details);
  const because = `Bearer error="invalid_token", error_description=${JSON.stringify(message)}`;
  return { ...refusal, headers: { ...refusal.headers, "www-authenticate": because } };
};

function readObject(part: string): Record<string, unknown> | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(part));
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

const bytesOf = (part: string) => Uint8Array.fromBase64(part, { alphabet: "base64url" });

async function isSignature(signature: string, signed: Uint8Array<ArrayBuffer>, key: CryptoKey): Promise<boolean> {
  try {
    return await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, bytesOf(signature), signed);
  } catch {
    return false;
  }
}

function whatIsWrong({ exp, nbf, iat, aud }: Record<string, unknown>, now: number): string | undefined {
  for (const [name, time] of Object.entries({ exp, nbf, iat }))
    if (time !== undefined && time !== null && typeof time !== "number")
      return `The JWT '${name}' claim must be a number`;
  if (typeof exp === "number" && exp < now - SKEW_SECONDS) return "JWT expired";
  if (typeof nbf === "number" && nbf > now + SKEW_SECONDS) return "JWT not yet valid";
  if (typeof iat === "number" && iat > now + SKEW_SECONDS) return "JWT issued at future";
  const isText = (value: unknown) => typeof value === "string";
  const isAudience = aud === undefined || aud === null || isText(aud) || (Array.isArray(aud) && aud.every(isText));
  return isAudience ? undefined : "The JWT 'aud' claim must be a string or an array of strings";
}
