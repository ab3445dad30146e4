import { CompactSign, exportSPKI, FlattenedSign, generateKeyPair, importJWK } from "jose";
import { inject } from "vitest";
import { forgeToken, publicJwk, tokenPart } from "../api/tokens.ts";

/** Makes an Authorization header that must not let in its sender, who knows the victim's identifier and a good token of theirs. */
export type Hostile = (victim: { id: string; token: string }) => Promise<string> | string;

const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;
const text = (words: string) => new TextEncoder().encode(words);
const bearer = async (token: string | Promise<string>) => `Bearer ${await token}`;
const ownIssuer = () => `${inject("stack").url}/auth/v1`;
/** Claims as Auth writes them, changed before they are signed; undefined takes one away. */
const claims =
  (change: Record<string, unknown> | (() => Record<string, unknown>)): Hostile =>
  ({ id }) =>
    bearer(forgeToken(id, { claims: typeof change === "function" ? change() : change }));
const header =
  (change: () => Record<string, unknown>): Hostile =>
  ({ id }) =>
    bearer(forgeToken(id, { header: change() }));
/** Another subject. */
const of =
  (subject: (id: string) => string): Hostile =>
  ({ id }) =>
    bearer(forgeToken(subject(id)));
/** The parts of the good token put together in another way. */
const edited =
  (edit: (head: string, payload: string, signature: string) => string): Hostile =>
  ({ token }) => {
    const [head = "", payload = "", signature = ""] = token.split(".");
    return `Bearer ${edit(head, payload, signature)}`;
  };
/** Our own header, changed after signing: nothing in it may be believed before the signature. */
const swapped = (change: Record<string, unknown>): Hostile =>
  edited((_, payload, signature) => {
    return `${tokenPart({ alg: "ES256", kid: publicJwk().kid, typ: "JWT", ...change })}.${payload}.${signature}`;
  });
/** Signed by a key of the sender's own, with our kid or with what the header says. */
const otherKey =
  (alg: string, more: Record<string, unknown> = {}): Hostile =>
  async ({ id }) => {
    const { privateKey } = await generateKeyPair(alg, { extractable: true });
    return bearer(forgeToken(id, { key: privateKey, header: { alg, ...more } }));
  };
/** HS256 by somebody who takes public data, or another service's secret, for our shared key. */
const bySecret =
  (secret: () => Promise<string> | string, more: Record<string, unknown> = {}): Hostile =>
  async ({ id }) =>
    bearer(forgeToken(id, { key: text(await secret()), header: { alg: "HS256", ...more } }));
const publicPem = async () => {
  const key = await importJWK(publicJwk(), "ES256", { extractable: true });
  if (key instanceof Uint8Array) throw new Error("A public key is never a secret.");
  return await exportSPKI(key);
};
/** Signed by the right key over what the signing library would refuse to write as claims. */
const payloadOf =
  (payload: (id: string) => string): Hostile =>
  async ({ id }) => {
    const { signingKey } = inject("stack");
    const signer = new FlattenedSign(text(payload(id))).setProtectedHeader({
      alg: "ES256",
      kid: signingKey.kid ?? "",
      typ: "JWT",
    });
    const jws = await signer.sign(await importJWK(signingKey, "ES256"));
    return `Bearer ${jws.protected}.${jws.payload}.${jws.signature}`;
  };
const payloadWith = (change: Record<string, unknown>): Hostile =>
  payloadOf((sub) => {
    const usual = { iss: ownIssuer(), aud: "authenticated", role: "authenticated", sub, exp: seconds(3600) };
    return JSON.stringify({ ...usual, ...change });
  });

export const HOSTILE_TOKENS: Record<string, Hostile> = {
  // Algorithms
  "ES256 by another key": otherKey("ES256"),
  "RS256 by another key": otherKey("RS256"),
  "HS256 with the public key as JWK": bySecret(() => JSON.stringify(publicJwk())),
  "HS256 with the public key as PEM, without kid": bySecret(publicPem, { kid: undefined }),
  "HS256 with the secret of the local Auth": bySecret(() => inject("stack").liteJwtSecret),
  "alg none, unsigned": edited((_, payload) => `${tokenPart({ alg: "none", typ: "JWT" })}.${payload}.`),
  "alg none with our kid and the old signature": swapped({ alg: "none" }),
  "no alg": swapped({ alg: undefined }),
  // Keys and where to get them
  "an unknown kid": header(() => ({ kid: crypto.randomUUID() })),
  "no kid": header(() => ({ kid: undefined })),
  "kid __proto__": header(() => ({ kid: "__proto__" })),
  "another key, carried in the header": async ({ id }) => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
    return bearer(forgeToken(id, { key: privateKey, header: { jwk: { kty, crv, x, y } } }));
  },
  "another key at a jku": otherKey("ES256", { jku: "https://keys.evil.test/jwks.json", kid: "evil" }),
  "an unknown critical header, well signed": async ({ token }) => {
    const { signingKey } = inject("stack");
    const payload = Uint8Array.fromBase64(token.split(".")[1] ?? "", { alphabet: "base64url" });
    const own = { alg: "ES256", kid: signingKey.kid ?? "", crit: ["x-own"], "x-own": true };
    const signer = new CompactSign(payload).setProtectedHeader(own);
    return bearer(signer.sign(await importJWK(signingKey, "ES256"), { crit: { "x-own": true } }));
  },
  "an unencoded payload (b64 false)": swapped({ crit: ["b64"], b64: false }),
  // Claims
  "a foreign issuer": claims({ iss: "https://other.supabase.co/auth/v1" }),
  "an issuer that only begins like ours": claims(() => ({ iss: `${ownIssuer()}.evil.test` })),
  "no issuer": claims({ iss: undefined }),
  "a list of issuers, ours among them": claims(() => ({ iss: ["https://evil.test", ownIssuer()] })),
  "our issuer with a slash": claims(() => ({ iss: `${ownIssuer()}/` })),
  "another audience": claims({ aud: "anon" }),
  "no audience": claims({ aud: undefined }),
  "a list of other audiences": claims({ aud: ["anon", "service_role"] }),
  "the role anon": claims({ role: "anon" }),
  "the role service_role": claims({ role: "service_role" }),
  "no role": claims({ role: undefined }),
  "roles as a list": claims({ role: ["authenticated"] }),
  "no subject": claims({ sub: undefined }),
  "a subject that is no user's identifier": of(() => "' or true --"),
  "sub as a list": payloadWith({ sub: [crypto.randomUUID()] }),
  "sub with more behind the identifier": of((id) => `${id}\n`),
  "an expired token": claims(() => ({ exp: seconds(-1) })),
  "exp of this very second": claims(() => ({ exp: seconds(0) })),
  "no exp": claims({ exp: undefined }),
  "exp as a text": payloadWith({ exp: "9999999999" }),
  "not valid yet": claims(() => ({ nbf: seconds(600) })),
  "iat as a text": payloadWith({ iat: "now" }),
  "claims as a list": payloadOf(() => '["authenticated"]'),
  "claims that are no JSON": payloadOf(() => "{role:authenticated}"),
  "no claims at all": payloadOf(() => "{}"),
  // Encodings and shapes
  "a tampered payload": edited((head, payload, signature) => {
    const given = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })));
    return `${head}.${tokenPart({ ...given, aal: "aal2" })}.${signature}`;
  }),
  "the signature of another token": async ({ id, token }) => {
    const [head, payload] = token.split(".");
    return `Bearer ${head}.${payload}.${(await forgeToken(id, { claims: { aal: "aal2" } })).split(".")[2]}`;
  },
  "a signature cut short": edited((...parts) => parts.join(".").slice(0, -4)),
  "no signature": edited((head, payload) => `${head}.${payload}.`),
  "a signature of zeros": edited((head, payload) => `${head}.${payload}.${"A".repeat(86)}`),
  "padding after each part": edited((...parts) => parts.map((part) => `${part}==`).join(".")),
  "JSON instead of the compact form": edited((head, payload, signature) =>
    JSON.stringify({ protected: head, payload, signature }),
  ),
  "thousands of nested lists": () => `Bearer ${tokenPart("[".repeat(20_000))}.e30.AA`,
  // The header Authorization
  "an empty Authorization header": () => "",
  "Bearer without a token": () => "Bearer ",
  "a token that is none": () => "Bearer not-a-token",
  "two tokens": ({ token }) => `Bearer ${token} ${token}`,
  "no scheme": ({ token }) => token,
  Basic: ({ token }) => `Basic ${token}`,
  "Bearer twice": ({ token }) => `Bearer Bearer ${token}`,
  "Bearer without a space": ({ token }) => `Bearer${token}`,
};
