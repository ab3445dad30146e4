import { CompactSign, exportSPKI, generateKeyPair, importJWK } from "jose";
import { beforeAll, expect, inject, test } from "vitest";
import { callApi } from "../support/api/call.ts";
import { footprint, openDatabase } from "../support/api/database.ts";
import { forgeToken, publicJwk, tokenPart } from "../support/api/tokens.ts";
import { signUp, type User } from "../support/api/user.ts";
import { until } from "../support/until.ts";

const sql = openDatabase();
let victim: User;
let projectId: string;
beforeAll(async () => {
  victim = await signUp();
  projectId = await victim.createProject();
});

const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;
const bytes = (text: string) => new TextEncoder().encode(text);
const bearer = async (token: string | Promise<string>) => `Bearer ${await token}`;

/** HS256 by somebody who takes public data, or another service's secret, for our shared key. */
const signedBySecret = (secret: string, header: Record<string, unknown> = {}) =>
  bearer(forgeToken(victim.id, { key: bytes(secret), header: { alg: "HS256", ...header } }));

const publicPem = async () => {
  const key = await importJWK(publicJwk(), "ES256", { extractable: true });
  if (key instanceof Uint8Array) throw new Error("A public key is never a secret.");
  return await exportSPKI(key);
};

/** The header Authorization. */
const WRONG: Record<string, () => Promise<string> | string> = {
  "an empty Authorization header": () => "",
  "Bearer without a token": () => "Bearer ",
  "a token that is none": () => "Bearer not-a-token",
  "two tokens": () => `Bearer ${victim.token} ${victim.token}`,
  "two tokens, separated by a comma": () => `Bearer ${victim.token}, Bearer ${victim.token}`,
  "the token without a scheme": () => victim.token,
  "Basic instead of Bearer": () => `Basic ${victim.token}`,
  "an expired token": () => bearer(forgeToken(victim.id, { claims: { exp: secondsFromNow(-1) } })),
  "a token without exp": () => bearer(forgeToken(victim.id, { claims: { exp: undefined } })),
  "a token that is not valid yet": () => bearer(forgeToken(victim.id, { claims: { nbf: secondsFromNow(600) } })),
  "a foreign issuer": () => bearer(forgeToken(victim.id, { claims: { iss: "https://other.supabase.co/auth/v1" } })),
  "an issuer that only begins like ours": () =>
    bearer(forgeToken(victim.id, { claims: { iss: `${inject("stack").url}/auth/v1.evil.test` } })),
  "no issuer": () => bearer(forgeToken(victim.id, { claims: { iss: undefined } })),
  "another audience": () => bearer(forgeToken(victim.id, { claims: { aud: "anon" } })),
  "no audience": () => bearer(forgeToken(victim.id, { claims: { aud: undefined } })),
  "the role anon": () => bearer(forgeToken(victim.id, { claims: { role: "anon" } })),
  "the role service_role": () => bearer(forgeToken(victim.id, { claims: { role: "service_role" } })),
  "no role": () => bearer(forgeToken(victim.id, { claims: { role: undefined } })),
  "no subject": () => bearer(forgeToken(victim.id, { claims: { sub: undefined } })),
  "a subject that is no user's identifier": () => bearer(forgeToken("' or true --")),
  "alg none, unsigned": () => {
    const [, payload] = victim.token.split(".");
    return `Bearer ${tokenPart({ alg: "none", typ: "JWT" })}.${payload}.`;
  },
  "alg none with our kid and the old signature": () => {
    const [, payload, signature] = victim.token.split(".");
    return `Bearer ${tokenPart({ alg: "none", typ: "JWT", kid: publicJwk().kid })}.${payload}.${signature}`;
  },
  "HS256 signed with the public key as JWK": () => signedBySecret(JSON.stringify(publicJwk())),
  "HS256 signed with the public key as PEM, without kid": async () =>
    signedBySecret(await publicPem(), { kid: undefined }),
  "HS256 signed with the secret of the local Auth": () => signedBySecret(inject("stack").liteJwtSecret),
  "HS256 signed with the publishable key": () => signedBySecret(inject("stack").publishableKey),
  "ES256 by another key under our kid": async () =>
    bearer(forgeToken(victim.id, { key: (await generateKeyPair("ES256")).privateKey })),
  "another key, carried in the header": async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
    return bearer(forgeToken(victim.id, { key: privateKey, header: { jwk: { kty, crv, x, y } } }));
  },
  "an unknown kid": () => bearer(forgeToken(victim.id, { header: { kid: crypto.randomUUID() } })),
  "no kid": () => bearer(forgeToken(victim.id, { header: { kid: undefined } })),
  "an unknown critical header": async () => {
    const { signingKey } = inject("stack");
    const payload = Uint8Array.fromBase64(victim.token.split(".")[1] ?? "", { alphabet: "base64url" });
    const header = { alg: "ES256", kid: signingKey.kid ?? "", crit: ["x-own"], "x-own": true };
    const signer = new CompactSign(payload).setProtectedHeader(header);
    return bearer(signer.sign(await importJWK(signingKey, "ES256"), { crit: { "x-own": true } }));
  },
  "a tampered payload": () => {
    const [header, payload = "", signature] = victim.token.split(".");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" })));
    return `Bearer ${header}.${tokenPart({ ...claims, aal: "aal2" })}.${signature}`;
  },
  "a signature cut short": () => `Bearer ${victim.token.slice(0, -4)}`,
  "no signature": () => `Bearer ${victim.token.split(".").slice(0, 2).join(".")}.`,
  "a well-signed token of 40,000 characters with a wrong audience": () =>
    bearer(forgeToken(victim.id, { claims: { aud: "anon", note: "x".repeat(30_000) } })),
};

test.each(Object.entries(WRONG))("%s → 401 on every kind of route, and nothing changed", async (_name, make) => {
  const headers = { authorization: await make() };
  const before = await footprint(sql, victim.id);
  const replies = await Promise.all([
    callApi("/api/projects", { headers, json: { title: "Not mine", textPrompt: "Not mine" } }),
    callApi(`/api/projects/generate/first-frame?projectId=${projectId}`, { headers }),
    callApi("/api/projects/reference-images", { headers: { ...headers, "content-type": "image/png" }, body: "x" }),
  ]);
  expect(replies.map(({ status, error }) => [status, error?.code])).toEqual(replies.map(() => [401, "unauthorized"]));
  expect(await footprint(sql, victim.id)).toEqual(before);
});

test("a wrong token beside a good apikey → 401: it never counts as none", async () => {
  const { publishableKey, secretKey } = inject("stack");
  const authorization = await bearer(forgeToken(victim.id, { claims: { exp: secondsFromNow(-1) } }));
  for (const apikey of [publishableKey, secretKey]) {
    const headers = { apikey, authorization };
    expect((await callApi(`/api/projects/generate/video?projectId=${projectId}`, { headers })).status).toBe(401);
  }
});

test("a foreign apikey beside a good token → 201: identity comes from the token alone", async () => {
  const headers = { apikey: "sb_publishable_of_somebody_else" };
  expect((await victim.post("/api/projects", { title: "Mine", textPrompt: "Mine" }, headers)).status).toBe(201);
});

test("the token as Auth issues it, with bearer, BEARER or two spaces → 201", async () => {
  for (const prefix of ["bearer ", "BEARER ", "Bearer  "]) {
    const headers = { authorization: prefix + victim.token };
    const json = { title: "Mine", textPrompt: "Mine" };
    expect((await callApi("/api/projects", { headers, json })).status).toBe(201);
  }
});

test("a token that was good a moment ago → 401 as soon as it has expired, however often it was accepted before", async () => {
  const exp = secondsFromNow(3);
  const token = await forgeToken(victim.id, { claims: { exp } });
  const status = async () => (await callApi(`/api/projects/generate/video?projectId=${projectId}`, { token })).status;
  expect(await status()).toBe(404); // accepted: there is no video yet
  expect(await status()).toBe(404);
  await until("the refusal", async () => ((await status()) === 401 ? true : undefined));
  expect(Date.now() / 1000).toBeGreaterThanOrEqual(exp);
  expect(Date.now() / 1000).toBeLessThan(exp + 5);
});

test("a good token of a user who no longer exists → 401, and no project", async () => {
  const gone = crypto.randomUUID();
  const token = await forgeToken(gone);
  const reply = await callApi("/api/projects", { token, json: { title: "Ghost", textPrompt: "Ghost" } });
  expect([reply.status, reply.error?.code]).toEqual([401, "unauthorized"]);
  expect((await footprint(sql, gone)).projects).toBe(0);
});
