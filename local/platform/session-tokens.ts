import { decodeJwt, errors, exportJWK, generateKeyPair, importJWK, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { z } from "zod";

/** The roles a token may name. Any other role could be a superuser. */
const ROLES = new Set(["anon", "authenticated", "service_role"]);
const MAX_CACHED = 1_000;

/** The claims of one session, and the same claims signed for lite. */
interface VerifiedToken {
  claims: JWTPayload & { role: string };
  liteToken: string;
}

interface UserMetadata {
  app_metadata?: Record<string, unknown> | undefined;
  user_metadata?: Record<string, unknown> | undefined;
}

type Verdict = { ok: true; token: VerifiedToken } | { ok: false; reason: "expired" | "invalid" };

/** Issues and verifies session tokens as the hosted Auth does (ES256), and converts them for lite, which knows only HS256. */
export interface SessionTokens {
  /**
   * Turns lite's HS256 token into the client's ES256 token with the claims that the hosted Auth adds. The signature is not
   * checked, because the token comes from lite.
   *
   * @param metadata the user's, which lite's token lacks
   */
  issue(liteToken: string, metadata?: UserMetadata): Promise<string>;
  /** Checks algorithm, key, issuer, expiry and role. */
  verify(token: string): Promise<Verdict>;
}

/**
 * @param options.issuer `${publicUrl}/auth/v1`
 * @param options.liteSecret lite's HS256 secret; never leaves this process
 */
export async function createSessionTokens(options: {
  key: SigningKey;
  issuer: string;
  liteSecret: string;
}): Promise<SessionTokens> {
  const { key, issuer } = options;
  const privateKey = await importJWK(key, "ES256");
  const publicKey = await importJWK(publicKeySet(key).keys[0] ?? key, "ES256");
  const liteSecret = new TextEncoder().encode(options.liteSecret);
  // An ES256 check takes about half a millisecond, and a client sends the same token many times.
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
        if ((known.claims.exp ?? 0) * 1_000 > Date.now()) return { ok: true, token: known };
        verified.delete(token);
        return { ok: false, reason: "expired" };
      }
      try {
        const { payload } = await jwtVerify(token, publicKey, {
          algorithms: ["ES256"],
          issuer,
          requiredClaims: ["exp"],
        });
        const role = payload.role;
        if (typeof role !== "string" || !ROLES.has(role)) return { ok: false, reason: "invalid" };
        const claims = { ...payload, role };
        const liteToken = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", typ: "JWT" }).sign(liteSecret);
        if (verified.size >= MAX_CACHED) verified.delete(verified.keys().next().value ?? "");
        verified.set(token, { claims, liteToken });
        return { ok: true, token: { claims, liteToken } };
      } catch (error) {
        return { ok: false, reason: error instanceof errors.JWTExpired ? "expired" : "invalid" };
      }
    },
  };
}

const metadata = z.record(z.string(), z.unknown()).optional();
const userSchema = z.looseObject({ app_metadata: metadata, user_metadata: metadata });
const sessionSchema = z.looseObject({
  access_token: z.string().optional(),
  user: userSchema.nullish(),
  session: z.looseObject({ access_token: z.string(), user: userSchema.nullish() }).nullish(),
});

/** Answers the path of Auth with the public key, which lite does not have. Undefined for every other path. */
export function answerKeySet(path: string, key: SigningKey): Response | undefined {
  const headers = { "cache-control": "public, max-age=600" };
  if (path === "/auth/v1/.well-known/jwks.json") return Response.json(publicKeySet(key), { headers });
  return undefined;
}

/** Replaces lite's tokens by ours, in a JSON response and in the redirect of an email link. */
export async function reissueTokens(response: Response, tokens: SessionTokens): Promise<Response> {
  const headers = new Headers(response.headers);
  const location = headers.get("location");
  if (location?.includes("access_token=")) {
    const target = new URL(location);
    const fragment = new URLSearchParams(target.hash.slice(1));
    fragment.set("access_token", await tokens.issue(fragment.get("access_token") ?? ""));
    target.hash = fragment.toString();
    headers.set("location", target.href);
    return new Response(response.body, { status: response.status, headers });
  }
  if (!headers.get("content-type")?.includes("json")) return response;
  const body: unknown = await response.json();
  headers.delete("content-length");
  const { data } = sessionSchema.safeParse(body);
  if (data) {
    if (data.access_token !== undefined) data.access_token = await tokens.issue(data.access_token, data.user ?? {});
    const session = data.session;
    if (session) session.access_token = await tokens.issue(session.access_token, session.user ?? data.user ?? {});
    return Response.json(data, { status: response.status, headers });
  }
  return Response.json(body, { status: response.status, headers });
}

/** A private ES256 key as a JSON Web Key. `kid` is in the header of every token and in the published key set. */
export const signingKeySchema = z.object({
  kty: z.literal("EC"),
  crv: z.literal("P-256"),
  alg: z.literal("ES256").default("ES256"),
  kid: z.string().min(1),
  x: z.string().min(1),
  y: z.string().min(1),
  d: z.string().min(1),
});

export type SigningKey = z.infer<typeof signingKeySchema>;

/** Creates a key. It must be kept with the data, or all sessions end at the next start. */
export async function generateSigningKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return signingKeySchema.parse({ ...(await exportJWK(privateKey)), alg: "ES256", kid: crypto.randomUUID() });
}

/** The public key, for `/auth/v1/.well-known/jwks.json` and `SUPABASE_JWKS`. */
export function publicKeySet(key: SigningKey) {
  const { kty, crv, alg, kid, x, y } = key;
  return { keys: [{ kty, crv, alg, kid, x, y, use: "sig", key_ops: ["verify"], ext: true }] };
}
