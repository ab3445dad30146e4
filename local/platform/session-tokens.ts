import { decodeJwt, errors, exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import { readRestToken } from "./rest/token.ts";

/** The roles a token may name. Any other role could be a superuser. */
const ROLES = new Set<unknown>(["anon", "authenticated", "service_role"]);

type UserMetadata = {
  app_metadata?: Record<string, unknown> | undefined;
  user_metadata?: Record<string, unknown> | undefined;
};

export type SessionTokens = Awaited<ReturnType<typeof createSessionTokens>>;

/**
 * Issues and verifies session tokens as the hosted Auth does (ES256), and converts them for lite, which knows only HS256.
 *
 * @param options.issuer `${publicUrl}/auth/v1`
 * @param options.liteSecret lite's HS256 secret; never leaves this process
 */
export async function createSessionTokens(options: { key: SigningKey; issuer: string; liteSecret: string }) {
  const { key, issuer } = options;
  const privateKey = await importJWK(key, "ES256");
  const publicKey = await importJWK(publicKeySet(key).keys[0] ?? key, "ES256");
  if (publicKey instanceof Uint8Array) throw new Error("an ES256 key is not a secret");
  const liteSecret = new TextEncoder().encode(options.liteSecret);
  return {
    /**
     * Turns lite's HS256 token into the client's ES256 token with the claims that the hosted Auth adds. The signature is not
     * checked, because the token comes from lite.
     *
     * @param metadata the user's, which lite's token lacks
     */
    issue(liteToken: string, metadata: UserMetadata = {}): Promise<string> {
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

    /** The caller of the Data API, by the rules of PostgREST. */
    readForRest: (token: string) => readRestToken(token, { key: publicKey, kid: key.kid, now: new Date() }),

    /** A token with which lite treats a request of the Data API as one of this role. */
    async ofRole(role: string): Promise<string> {
      const header = { alg: "HS256", typ: "JWT" };
      return await new SignJWT({ role }).setProtectedHeader(header).setExpirationTime("1h").sign(liteSecret);
    },

    /** Signs the same claims for lite, after a check of algorithm, key, issuer, expiry and role. For Auth and Storage. */
    async toLite(token: string) {
      try {
        const checks = { algorithms: ["ES256"], issuer, requiredClaims: ["exp"] };
        const { payload } = await jwtVerify(token, publicKey, checks);
        if (!ROLES.has(payload.role)) return "invalid";
        return await new SignJWT(payload).setProtectedHeader({ alg: "HS256", typ: "JWT" }).sign(liteSecret);
      } catch (error) {
        return error instanceof errors.JWTExpired ? "expired" : "invalid";
      }
    },
  };
}

const metadata = z.record(z.string(), z.unknown()).optional();
const sessionSchema = z.looseObject({
  access_token: z.string(),
  user: z.looseObject({ app_metadata: metadata, user_metadata: metadata }).nullish(),
});

/** Replaces lite's tokens by ours, in a JSON response and in the redirect of an email link. */
export async function reissueTokens(response: Response, tokens: SessionTokens): Promise<Response> {
  const { status } = response;
  const headers = new Headers(response.headers);
  const location = headers.get("location");
  if (location?.includes("access_token=")) {
    const target = new URL(location);
    const fragment = new URLSearchParams(target.hash.slice(1));
    fragment.set("access_token", await tokens.issue(fragment.get("access_token") ?? ""));
    target.hash = fragment.toString();
    headers.set("location", target.href);
    return new Response(response.body, { status, headers });
  }
  if (!headers.get("content-type")?.includes("json")) return response;
  const body: unknown = await response.json();
  headers.delete("content-length");
  const { data } = sessionSchema.safeParse(body);
  if (data) data.access_token = await tokens.issue(data.access_token, data.user ?? {});
  return Response.json(data ?? body, { status, headers });
}

/** A private ES256 key as a JSON Web Key. `kid` is in the header of every token and in the published key set. */
export const signingKeySchema = z.object({
  kty: z.literal("EC"),
  crv: z.literal("P-256"),
  alg: z.literal("ES256"),
  kid: z.string(),
  x: z.string(),
  y: z.string(),
  d: z.string(),
});

export type SigningKey = z.infer<typeof signingKeySchema>;

/** Creates a key. It must be kept with the data, or all sessions end at the next start. */
export async function generateSigningKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return signingKeySchema.parse({ ...(await exportJWK(privateKey)), alg: "ES256", kid: crypto.randomUUID() });
}

/** The public key, for `/auth/v1/.well-known/jwks.json`, where lite has none, and `SUPABASE_JWKS`. */
export function publicKeySet({ d: _private, ...key }: SigningKey) {
  return { keys: [{ ...key, use: "sig", key_ops: ["verify"], ext: true }] };
}
