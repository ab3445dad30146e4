import { decodeProtectedHeader } from "jose/decode/protected_header";
import * as errors from "jose/errors";
import { createLocalJWKSet } from "jose/jwks/local";
import { type JWTVerifyGetKey, jwtVerify } from "jose/jwt/verify";
import { z } from "zod";
import { createBoundedCache } from "../bounded-cache.ts";
import { unauthorized } from "../errors.ts";

/** A verified session. `token` is passed to the platform, where row-level security decides. */
type Session = { ownerId: string; clientId: string | undefined; token: string; expiresAt: Date };

/**
 * `ownerId` is null for the project (by its secret key) and for an anonymous caller. `token` is passed to the platform: a session token or
 * the secret key. `by` is set if `token` is the secret key: `server` acts for the owner; `key` is one of the owner's keys. `clientId` is the
 * OAuth client that got the token, or the id of the key.
 */
export type Caller = {
  ownerId: string | null;
  token: string | null;
  clientId?: string | undefined;
  by?: "server" | "key";
};

export const NOBODY: Caller = { ownerId: null, token: null };

export type SessionVerifier = (authorization: string | null) => Promise<Session>;

/** Authenticates the caller of a request. Throws ApiError, unauthorized among others. */
export type Verifier = (headers: Headers) => Promise<Caller>;

type JSONWebKeySet = Parameters<typeof createLocalJWKSet>[0];
type Settings = { jwks: JSONWebKeySet; sharedKey?: string | undefined; issuers: string[]; now: () => Date };

/** Postgres decides what a client_id may do, and refuses one that is not text. */
const claims = z.object({
  sub: z.guid(),
  role: z.literal("authenticated"),
  exp: z.number(),
  client_id: z.string().optional().catch(undefined),
});

/**
 * Verifies session tokens without a network call: signature, exp, iss, aud and role. Throws unauthorized.
 * Each kind of key is bound to its algorithms, so that a public key is never used as a shared secret.
 */
export function createSessionVerifier({ jwks, sharedKey, issuers, now }: Settings): SessionVerifier {
  const publicKeys = createLocalJWKSet({ keys: jwks.keys.filter(({ kty }) => kty === "EC" || kty === "RSA") });
  const publicKey: JWTVerifyGetKey = (header, token) => {
    if (header.kid === undefined) throw new errors.JWKSNoMatchingKey();
    return publicKeys(header, token);
  };
  const secret = sharedKey === undefined ? undefined : new TextEncoder().encode(sharedKey);

  return async (authorization) => {
    if (authorization === null) throw unauthorized("The session token is missing.");
    const token = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    if (token === undefined) throw unauthorized("The Authorization header has no Bearer token.");
    const expected = {
      issuer: issuers,
      audience: "authenticated",
      requiredClaims: ["exp", "sub", "role"],
      currentDate: now(),
    };
    try {
      const { payload } =
        secret !== undefined && decodeProtectedHeader(token).alg === "HS256"
          ? await jwtVerify(token, secret, { ...expected, algorithms: ["HS256"] })
          : await jwtVerify(token, publicKey, { ...expected, algorithms: ["ES256", "RS256"] });
      const { sub, exp, client_id: clientId } = claims.parse(payload);
      // jose compares whole seconds too: a token is refused from the second of exp on.
      return { ownerId: sub, clientId, token, expiresAt: new Date(exp * 1000) };
    } catch (error) {
      throw unauthorized(whatIsWrong(error, issuers));
    }
  };
}

/** A claim is named only after the signature was verified. No value of the token is repeated. */
function whatIsWrong(error: unknown, issuers: string[]): string {
  if (error instanceof errors.JWTExpired) return "The session token has expired.";
  if (error instanceof errors.JWKSNoMatchingKey)
    return "The session token is not valid here: it was not signed by this project's Auth; it may come from another sign-in service.";
  const expected: Record<string, string> = {
    iss: issuers.join(" or "),
    aud: '"authenticated", or a list that has it',
    role: '"authenticated"',
    sub: "the id of a user of this project's Auth, a UUID",
    exp: "when it expires, a number",
    nbf: "a time that has passed",
  };
  const claim =
    error instanceof errors.JWTClaimValidationFailed
      ? error.claim
      : error instanceof z.ZodError && String(error.issues[0]?.path[0]);
  const what = typeof claim === "string" ? expected[claim] : undefined;
  return what === undefined
    ? "The session token is not valid."
    : `The session token is not valid here: its claim ${claim} must be ${what}.`;
}

/** The cache holds about a megabyte of tokens. A token's length depends on the user's metadata, so long ones are not kept. */
const MAX_SESSIONS = 1000;
const MAX_KEPT_CHARACTERS = 4096;

/**
 * Caches verified tokens, because checking a signature costs more than the rest of a request (0.5 ms).
 * Caching is safe: a token cannot change, and its expiry is checked each time. Refusals are not cached.
 */
export function rememberSessions(verify: SessionVerifier, now: () => Date, max = MAX_SESSIONS): SessionVerifier {
  const cache = createBoundedCache<Session>(max, ({ expiresAt }) => expiresAt > now());
  return async (authorization) => {
    const known = authorization === null ? undefined : cache.get(authorization);
    if (known !== undefined) return known;
    const session = await verify(authorization);
    if (authorization !== null && authorization.length <= MAX_KEPT_CHARACTERS) cache.set(authorization, session);
    return session;
  };
}
