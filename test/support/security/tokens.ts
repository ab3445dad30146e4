import { FlattenedSign, generateKeyPair, importJWK, SignJWT } from "jose";
import { inject } from "vitest";
import { forgeToken, publicJwk, tokenPart } from "../api/tokens.ts";

/** Makes an Authorization header that must not let in its sender, who knows the victim's identifier and a good token of theirs. */
export type Hostile = (victim: { id: string; token: string }) => Promise<string> | string;

const seconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;
const bearer = async (token: string | Promise<string>) => `Bearer ${await token}`;
const claims =
  (change: Record<string, unknown>): Hostile =>
  ({ id }) =>
    bearer(forgeToken(id, { claims: change }));
const header =
  (change: Record<string, unknown>): Hostile =>
  ({ id }) =>
    bearer(forgeToken(id, { header: change }));
/** Our own header, changed after signing: nothing in it may be believed before the signature. */
const swapped =
  (change: Record<string, unknown>): Hostile =>
  ({ token }) => {
    const [, payload, signature] = token.split(".");
    return `Bearer ${tokenPart({ alg: "ES256", kid: publicJwk().kid, typ: "JWT", ...change })}.${payload}.${signature}`;
  };
/** Signed by a key of the sender's own under another algorithm, with our kid. */
const otherKey =
  (alg: string): Hostile =>
  async ({ id }) => {
    const { privateKey } = await generateKeyPair(alg, { extractable: true });
    return bearer(forgeToken(id, { key: privateKey, header: { alg } }));
  };
const edited =
  (edit: (parts: [string, string, string]) => string): Hostile =>
  ({ token }) => {
    const [head = "", payload = "", signature = ""] = token.split(".");
    return `Bearer ${edit([head, payload, signature])}`;
  };
/** Signed by the right key over claims that are no object of claims. */
const payloadOf =
  (text: string): Hostile =>
  async () => {
    const { signingKey } = inject("stack");
    const signer = new FlattenedSign(new TextEncoder().encode(text));
    const jws = await signer
      .setProtectedHeader({ alg: "ES256", kid: signingKey.kid ?? "", typ: "JWT" })
      .sign(await importJWK(signingKey, "ES256"));
    return `Bearer ${jws.protected}.${jws.payload}.${jws.signature}`;
  };
const ownIssuer = () => `${inject("stack").url}/auth/v1`;
const url = "https://keys.evil.test/jwks.json";

/** Beside those of test/api/session-tokens.test.ts, which has the plain mistakes. */
export const HOSTILE_TOKENS: Record<string, Hostile> = {
  // Algorithms
  "ES384 by another key": otherKey("ES384"),
  "ES512 by another key": otherKey("ES512"),
  "PS256 by another key": otherKey("PS256"),
  "RS256 by another key": otherKey("RS256"),
  "RS512 by another key": otherKey("RS512"),
  "EdDSA by another key": otherKey("EdDSA"),
  "ES256K, which nobody here verifies": swapped({ alg: "ES256K" }),
  "RSASSA-PSS said, our signature kept": swapped({ alg: "PS512" }),
  "HS512 with the public key's x as secret": async ({ id }) =>
    bearer(
      forgeToken(id, {
        key: Uint8Array.fromBase64(publicJwk().x ?? "", { alphabet: "base64url" }),
        header: { alg: "HS512" },
      }),
    ),
  "HS256 with the kid as secret": ({ id }) =>
    bearer(forgeToken(id, { key: new TextEncoder().encode(publicJwk().kid), header: { alg: "HS256" } })),
  "HS256 over an empty kid": ({ id }) =>
    bearer(forgeToken(id, { key: new TextEncoder().encode("secret"), header: { alg: "HS256", kid: "" } })),
  "alg None": swapped({ alg: "None" }),
  "alg NONE": swapped({ alg: "NONE" }),
  "alg nOnE without a signature": ({ token }) => `Bearer ${tokenPart({ alg: "nOnE" })}.${token.split(".")[1]}.`,
  "alg in small letters": swapped({ alg: "es256" }),
  "alg with a space": swapped({ alg: "ES256 " }),
  "alg as a list": swapped({ alg: ["ES256", "none"] }),
  "alg as a number": swapped({ alg: 0 }),
  "alg null": swapped({ alg: null }),
  "no alg": swapped({ alg: undefined }),
  "an encrypted token's header": swapped({ alg: "RSA-OAEP", enc: "A256GCM" }),
  // Keys and where to get them
  "kid as a path": header({ kid: "../../../../../../dev/null" }),
  "kid as SQL": header({ kid: "x' union select 'secret' --" }),
  "kid as a URL": header({ kid: url }),
  "kid of 8000 characters": header({ kid: "k".repeat(8000) }),
  "kid with a line break": header({ kid: `${publicJwk().kid}\r\nx` }),
  "kid with a NUL": header({ kid: `${publicJwk().kid}\0` }),
  "kid as a list": swapped({ kid: [publicJwk().kid] }),
  "kid as an object": swapped({ kid: { toString: publicJwk().kid } }),
  "kid null": swapped({ kid: null }),
  "kid __proto__": header({ kid: "__proto__" }),
  "two kids, the good one first": edited(([, payload, signature]) => {
    const kid = publicJwk().kid;
    const text = `{"alg":"ES256","kid":"${kid}","kid":"other","typ":"JWT"}`;
    return `${new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true })}.${payload}.${signature}`;
  }),
  "another key at a jku": async ({ id }) => {
    const { privateKey } = await generateKeyPair("ES256");
    return bearer(forgeToken(id, { key: privateKey, header: { jku: url, kid: "evil" } }));
  },
  "another key's certificate in x5c and at x5u": async ({ id }) => {
    const { privateKey } = await generateKeyPair("ES256");
    return bearer(forgeToken(id, { key: privateKey, header: { x5u: url, x5c: ["MIIB"], x5t: "AAAA" } }));
  },
  "crit in a signed header, empty": swapped({ crit: [] }),
  "crit exp": swapped({ crit: ["exp"], exp: seconds(60) }),
  "an unencoded payload (b64 false)": swapped({ crit: ["b64"], b64: false }),
  "zip DEF": swapped({ zip: "DEF" }),
  // Claims
  "a list of issuers, ours among them": claims({ iss: ["https://evil.test", ownIssuer()] }),
  "our issuer with a slash": ({ id }) => bearer(forgeToken(id, { claims: { iss: `${ownIssuer()}/` } })),
  "our issuer in capitals": ({ id }) => bearer(forgeToken(id, { claims: { iss: ownIssuer().toUpperCase() } })),
  "our issuer with a user name": ({ id }) =>
    bearer(forgeToken(id, { claims: { iss: ownIssuer().replace("://", "://evil@") } })),
  "our issuer by another name of this machine": ({ id }) =>
    bearer(forgeToken(id, { claims: { iss: ownIssuer().replace("127.0.0.1", "localhost") } })),
  "our issuer without its path": ({ id }) => bearer(forgeToken(id, { claims: { iss: inject("stack").url } })),
  "an audience that begins like ours": claims({ aud: "authenticated-admin" }),
  "an audience in capitals": claims({ aud: "AUTHENTICATED" }),
  "a list of other audiences": claims({ aud: ["anon", "service_role"] }),
  "an empty list of audiences": claims({ aud: [] }),
  "an audience as an object": payloadWith({ aud: { 0: "authenticated" } }),
  "roles as a list": claims({ role: ["authenticated"] }),
  "the role admin": claims({ role: "supabase_admin" }),
  "the role authenticator": claims({ role: "authenticator" }),
  "the role with a space": claims({ role: "authenticated " }),
  "the role as SQL": claims({ role: "authenticated; reset role" }),
  "sub as a list": payloadWith({ sub: [crypto.randomUUID()] }),
  "sub empty": claims({ sub: "" }),
  "sub with more behind the identifier": ({ id }) => bearer(forgeToken(`${id}\n`)),
  "sub in braces": ({ id }) => bearer(forgeToken(`{${id}}`)),
  "exp as a text": payloadWith({ exp: "9999999999" }),
  "exp as true": payloadWith({ exp: true }),
  "exp null": payloadWith({ exp: null }),
  "exp in milliseconds of the past": claims({ exp: -1 }),
  "exp of this very second": claims({ exp: seconds(0) }),
  "exp 0": claims({ exp: 0 }),
  "nbf in the year 3000": claims({ nbf: 32_503_680_000 }),
  "nbf as a text": payloadWith({ nbf: "0" }),
  "iat as a text": payloadWith({ iat: "now" }),
  "claims as a list": payloadOf('["authenticated"]'),
  "claims as a text": payloadOf('"authenticated"'),
  "claims null": payloadOf("null"),
  "claims that are no JSON": payloadOf("{role:authenticated}"),
  "no claims at all": payloadOf("{}"),
  "a token within a token": async ({ id, token }) => {
    const { signingKey } = inject("stack");
    const signer = new SignJWT({ jwt: token }).setProtectedHeader({
      alg: "ES256",
      kid: signingKey.kid ?? "",
      cty: "JWT",
    });
    return bearer(signer.setSubject(id).sign(await importJWK(signingKey, "ES256")));
  },
  // Encodings and shapes
  "padding after each part": edited((parts) => parts.map((part) => `${part}==`).join(".")),
  "base64 with + and / in the signature": edited(([head, payload, signature]) =>
    [head, payload, `${signature.slice(0, -2)}+/`].join("."),
  ),
  "an empty header": edited(([, payload, signature]) => `.${payload}.${signature}`),
  "an empty payload": edited(([head, , signature]) => `${head}..${signature}`),
  "five parts": edited((parts) => `${parts.join(".")}.AAAA.AAAA`),
  "a dot behind it": edited((parts) => `${parts.join(".")}.`),
  "a dot before it": edited((parts) => `.${parts.join(".")}`),
  "percent signs": edited((parts) => parts.join("%2E")),
  "quotation marks": edited((parts) => `"${parts.join(".")}"`),
  "a tab in the middle": edited((parts) => parts.join(".\t")),
  "letters that are not ASCII": edited(([head, payload, signature]) => `${head}.${payload}é.${signature}`),
  "a signature of zeros": edited(([head, payload]) => `${head}.${payload}.${"A".repeat(86)}`),
  "a signature as DER": edited(([head, payload]) => `${head}.${payload}.MEUCIQ${"A".repeat(90)}`),
  "the signature of another token": async ({ id, token }) => {
    const [head, payload] = token.split(".");
    return `Bearer ${head}.${payload}.${(await forgeToken(id, { claims: { aal: "aal2" } })).split(".")[2]}`;
  },
  "JSON instead of the compact form": ({ token }) => {
    const [head, payload, signature] = token.split(".");
    return `Bearer ${JSON.stringify({ protected: head, payload, signature }).replaceAll(" ", "")}`;
  },
  "a million nested lists, cut to what a header takes": () => `Bearer ${tokenPart("[".repeat(20_000))}.e30.AA`,
  "another scheme": ({ token }) => `Token ${token}`,
  DPoP: ({ token }) => `DPoP ${token}`,
  "Bearer with a colon": ({ token }) => `Bearer: ${token}`,
  "Bearer twice": ({ token }) => `Bearer Bearer ${token}`,
  "Bearer without a space": ({ token }) => `Bearer${token}`,
  "a form field": ({ token }) => `access_token=${token}`,
};

/** A claim of a kind that the signing library itself would refuse to write. */
function payloadWith(change: Record<string, unknown>): Hostile {
  return (victim) => {
    const now = seconds(0);
    const usual = {
      iss: ownIssuer(),
      aud: "authenticated",
      role: "authenticated",
      sub: victim.id,
      iat: now,
      exp: now + 3600,
    };
    return payloadOf(JSON.stringify({ ...usual, ...change }))(victim);
  };
}
