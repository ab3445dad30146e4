import { exportJWK, generateKeyPair } from "jose";
import { z } from "zod";

/** A private ES256 key as a JSON Web Key. `kid` names it in the header of every token and in the published key set. */
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

/** Makes a new key. It is the project's identity: keep it with the data, or every session ends at the next start. */
export async function generateSigningKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return signingKeySchema.parse({ ...(await exportJWK(privateKey)), alg: "ES256", kid: crypto.randomUUID() });
}

/** The public half, as `/auth/v1/.well-known/jwks.json` and `SUPABASE_JWKS` show it. */
export function publicKeySet(key: SigningKey) {
  const { kty, crv, alg, kid, x, y } = key;
  return { keys: [{ kty, crv, alg, kid, x, y, use: "sig", key_ops: ["verify"], ext: true }] };
}
