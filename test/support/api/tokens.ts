import { importJWK, SignJWT } from "jose";
import { inject } from "vitest";

type Changes = {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown> & { alg?: string };
  key?: CryptoKey | Uint8Array;
};

/** A session token as Auth of the running stack would issue it, signed with its own key; undefined removes a claim or a field. */
export async function forgeToken(userId: string, { claims = {}, header = {}, key }: Changes = {}): Promise<string> {
  const { url, signingKey } = inject("stack");
  const now = Math.floor(Date.now() / 1000);
  const payload = {
    iss: `${url}/auth/v1`,
    aud: "authenticated",
    role: "authenticated",
    sub: userId,
    session_id: crypto.randomUUID(),
    iat: now,
    exp: now + 3600,
    ...claims,
  };
  const { alg = "ES256", ...others } = {
    typ: "JWT",
    ...(signingKey.kid === undefined ? {} : { kid: signingKey.kid }),
    ...header,
  };
  return await new SignJWT(payload)
    .setProtectedHeader({ alg, ...others })
    .sign(key ?? (await importJWK(signingKey, "ES256")));
}

export function publicJwk() {
  const { kty = "", crv = "", x = "", y = "", kid = "" } = inject("stack").signingKey;
  return { kty, crv, x, y, kid, alg: "ES256", use: "sig" };
}

export const tokenPart = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).toBase64({ alphabet: "base64url", omitPadding: true });
