import { CompactSign, exportSPKI, FlattenedSign, generateKeyPair, importJWK } from "jose";
import { inject } from "vitest";
import { forgeToken, publicJwk, tokenPart } from "../api/tokens.ts";

/** Makes an Authorization header that must not let in its sender, who knows the victim's identifier and a good token of theirs. */
type Hostile = (victim: { id: string; token: string }) => Promise<string> | string;

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
/** By algorithm; an RSA key takes up to a second to make. */
const othersKeys: Record<string, ReturnType<typeof generateKeyPair>> = {};
/** Signed by a key of the sender's own, with our kid or with what the header says. */
const otherKey =
  (alg: string, more: Record<string, unknown> = {}): Hostile =>
  async ({ id }) => {
    othersKeys[alg] ??= generateKeyPair(alg, { extractable: true });
    const { privateKey } = await othersKeys[alg];
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
  "ES384 by another key": otherKey("ES384"),
  "RS256 by another key": otherKey("RS256"),
  "ES256K, which nobody here verifies": swapped({ alg: "ES256K" }),
  "HS256 with the public key as JWK": bySecret(() => JSON.stringify(publicJwk())),
  "HS256 with the public key as PEM, without kid": bySecret(publicPem, { kid: undefined }),
  "HS256 with the kid as secret": bySecret(() => publicJwk().kid ?? ""),
  "HS256 over an empty kid": bySecret(() => "secret", { kid: "" }),
  "HS256 with the secret of the local Auth": bySecret(() => inject("stack").liteJwtSecret),
  "HS256 with the publishable key": bySecret(() => inject("stack").publishableKey),
  "HS512 with the public key's x as secret": ({ id }) => {
    const key = Uint8Array.fromBase64(publicJwk().x ?? "", { alphabet: "base64url" });
    return bearer(forgeToken(id, { key, header: { alg: "HS512" } }));
  },
  "alg none, unsigned": edited((_, payload) => `${tokenPart({ alg: "none", typ: "JWT" })}.${payload}.`),
  "alg none with our kid and the old signature": swapped({ alg: "none" }),
  "alg nOnE without a signature": edited((_, payload) => `${tokenPart({ alg: "nOnE" })}.${payload}.`),
  "alg as a list": swapped({ alg: ["ES256", "none"] }),
  "no alg": swapped({ alg: undefined }),
  "an encrypted token's header": swapped({ alg: "RSA-OAEP", enc: "A256GCM" }),
  // Keys and where to get them
  "an unknown kid": header(() => ({ kid: crypto.randomUUID() })),
  "no kid": header(() => ({ kid: undefined })),
  "kid as a path": header(() => ({ kid: "../../../../../../dev/null" })),
  "kid of 8000 characters": header(() => ({ kid: "k".repeat(8000) })),
  "kid with a NUL": header(() => ({ kid: `${publicJwk().kid}\0` })),
  "kid as a list": swapped({ kid: ["key"] }),
  "two kids, the good one first": edited((_, payload, signature) => {
    const twice = text(`{"alg":"ES256","kid":"${publicJwk().kid}","kid":"other","typ":"JWT"}`);
    return `${twice.toBase64({ alphabet: "base64url", omitPadding: true })}.${payload}.${signature}`;
  }),
  "another key, carried in the header": async ({ id }) => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
    return bearer(forgeToken(id, { key: privateKey, header: { jwk: { kty, crv, x, y } } }));
  },
  "another key at a jku": otherKey("ES256", { jku: "https://keys.evil.test/jwks.json", kid: "evil" }),
  "another key's certificate": otherKey("ES256", { x5u: "https://keys.evil.test/a", x5c: ["MIIB"], x5t: "AAAA" }),
  "an unknown critical header, well signed": async ({ token }) => {
    const { signingKey } = inject("stack");
    const payload = Uint8Array.fromBase64(token.split(".")[1] ?? "", { alphabet: "base64url" });
    const own = { alg: "ES256", kid: signingKey.kid ?? "", crit: ["x-own"], "x-own": true };
    const signer = new CompactSign(payload).setProtectedHeader(own);
    return bearer(signer.sign(await importJWK(signingKey, "ES256"), { crit: { "x-own": true } }));
  },
  "crit, empty": swapped({ crit: [] }),
  "an unencoded payload (b64 false)": swapped({ crit: ["b64"], b64: false }),
  // Claims
  "a foreign issuer": claims({ iss: "https://other.supabase.co/auth/v1" }),
  "an issuer that only begins like ours": claims(() => ({ iss: `${ownIssuer()}.evil.test` })),
  "no issuer": claims({ iss: undefined }),
  "a list of issuers, ours among them": claims(() => ({ iss: ["https://evil.test", ownIssuer()] })),
  "our issuer with a slash": claims(() => ({ iss: `${ownIssuer()}/` })),
  "our issuer by another name of this machine": claims(() => ({ iss: ownIssuer().replace("127.0.0.1", "localhost") })),
  "another audience": claims({ aud: "anon" }),
  "another audience, in 40,000 characters": claims({ aud: "anon", note: "x".repeat(30_000) }),
  "no audience": claims({ aud: undefined }),
  "an audience that begins like ours": claims({ aud: "authenticated-admin" }),
  "a list of other audiences": claims({ aud: ["anon", "service_role"] }),
  "an audience as an object": payloadWith({ aud: { 0: "authenticated" } }),
  "the role anon": claims({ role: "anon" }),
  "the role service_role": claims({ role: "service_role" }),
  "no role": claims({ role: undefined }),
  "roles as a list": claims({ role: ["authenticated"] }),
  "the role as SQL": claims({ role: "authenticated; reset role" }),
  "no subject": claims({ sub: undefined }),
  "a subject that is not a user's id": of(() => "' or true --"),
  "sub as a list": payloadWith({ sub: [crypto.randomUUID()] }),
  "sub with more behind the identifier": of((id) => `${id}\n`),
  "an expired token": claims(() => ({ exp: seconds(-1) })),
  "exp of this very second": claims(() => ({ exp: seconds(0) })),
  "no exp": claims({ exp: undefined }),
  "exp as a text": payloadWith({ exp: "9999999999" }),
  "exp as true": payloadWith({ exp: true }),
  "not valid yet": claims(() => ({ nbf: seconds(600) })),
  "nbf as a text": payloadWith({ nbf: "0" }),
  "claims as a list": payloadOf(() => '["authenticated"]'),
  "claims that are no JSON": payloadOf(() => "{role:authenticated}"),
  "a token within a token": ({ id, token }) => payloadOf(() => JSON.stringify({ jwt: token, sub: id }))({ id, token }),
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
  "base64 with + and / in the signature": edited((head, payload, end) => `${head}.${payload}.${end.slice(0, -2)}+/`),
  "padding after each part": edited((...parts) => parts.map((part) => `${part}==`).join(".")),
  "an empty payload": edited((head, _, signature) => `${head}..${signature}`),
  "five parts": edited((...parts) => `${parts.join(".")}.AAAA.AAAA`),
  "letters that are not ASCII": edited((head, payload, signature) => `${head}.${payload}é.${signature}`),
  "JSON instead of the compact form": edited((head, payload, signature) =>
    JSON.stringify({ protected: head, payload, signature }),
  ),
  "thousands of nested lists": () => `Bearer ${tokenPart("[".repeat(20_000))}.e30.AA`,
  // The header Authorization
  "an empty Authorization header": () => "",
  "Bearer without a token": () => "Bearer ",
  "a token that is none": () => "Bearer not-a-token",
  "two tokens": ({ token }) => `Bearer ${token} ${token}`,
  "two tokens, separated by a comma": ({ token }) => `Bearer ${token}, Bearer ${token}`,
  "another scheme": ({ token }) => `Token ${token}`,
  Basic: ({ token }) => `Basic ${token}`,
  "Bearer without a space": ({ token }) => `Bearer${token}`,
};
