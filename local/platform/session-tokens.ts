import { decodeJwt, errors, importJWK, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { publicKeySet, type SigningKey } from "./signing-key.ts";

/** The roles a token may name. A token of any other role would let the holder become, say, a superuser. */
const ROLES = new Set(["anon", "authenticated", "service_role"]);
const REMEMBERED = 1_000;

/** Both forms of one session: `claims` as signed by us, `liteToken` the same signed as lite expects it. */
export interface VerifiedToken {
  claims: JWTPayload & { role: string };
  liteToken: string;
}

export interface UserMetadata {
  app_metadata?: Record<string, unknown> | undefined;
  user_metadata?: Record<string, unknown> | undefined;
}

export type Verdict = { ok: true; token: VerifiedToken } | { ok: false; reason: "expired" | "invalid" };

/** Issues and checks session tokens the way the hosted Auth does, and translates them for lite, which knows only HS256. */
export interface SessionTokens {
  /**
   * lite's HS256 token → the ES256 token a client gets, with the claims Auth adds. The signature is not checked: it
   * comes from lite itself.
   *
   * @param metadata the user's, which lite leaves out of the token
   */
  issue(liteToken: string, metadata?: UserMetadata): Promise<string>;
  /** Checks algorithm, key, issuer, audience-independent times and role of a token from outside. */
  verify(token: string): Promise<Verdict>;
}

/**
 * @param options.issuer `${publicUrl}/auth/v1`
 * @param options.liteSecret the HS256 secret lite was configured with; never leaves this process
 * @param options.now milliseconds, for tests
 */
export async function createSessionTokens(options: {
  key: SigningKey;
  issuer: string;
  liteSecret: string;
  now?: () => number;
}): Promise<SessionTokens> {
  const { key, issuer } = options;
  const now = options.now ?? Date.now;
  const privateKey = await importJWK(key, "ES256");
  const publicKey = await importJWK(publicKeySet(key).keys[0] ?? key, "ES256");
  const liteSecret = new TextEncoder().encode(options.liteSecret);
  // An ES256 check costs about half a millisecond, and a client sends the same token many times.
  const verified = new Map<string, VerifiedToken>();

  return {
    issue(liteToken, metadata = {}) {
      const claims = decodeJwt(liteToken);
      const added = {
        phone: "",
        app_metadata: metadata.app_metadata ?? {},
        user_metadata: metadata.user_metadata ?? {},
        aal: "aal1",
        amr: [{ method: "password", timestamp: claims.iat }],
        is_anonymous: false,
      };
      return new SignJWT({ aud: "authenticated", role: "authenticated", ...added, ...claims, iss: issuer })
        .setProtectedHeader({ alg: "ES256", kid: key.kid, typ: "JWT" })
        .sign(privateKey);
    },

    async verify(token) {
      const known = verified.get(token);
      if (known) {
        if ((known.claims.exp ?? 0) * 1_000 > now()) return { ok: true, token: known };
        verified.delete(token);
        return { ok: false, reason: "expired" };
      }
      try {
        const { payload } = await jwtVerify(token, publicKey, {
          algorithms: ["ES256"],
          issuer,
          requiredClaims: ["exp"],
          currentDate: new Date(now()),
        });
        const role = payload.role;
        if (typeof role !== "string" || !ROLES.has(role)) return { ok: false, reason: "invalid" };
        const claims = { ...payload, role };
        const liteToken = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", typ: "JWT" }).sign(liteSecret);
        if (verified.size >= REMEMBERED) verified.delete(verified.keys().next().value ?? "");
        verified.set(token, { claims, liteToken });
        return { ok: true, token: { claims, liteToken } };
      } catch (error) {
        return { ok: false, reason: error instanceof errors.JWTExpired ? "expired" : "invalid" };
      }
    },
  };
}
