import { exportSPKI, generateKeyPair, SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { createSessionVerifier, rememberSessions } from "../../../shared/api/auth/verify-session.ts";
import { ApiError } from "../../../shared/http/errors.ts";
import { keys, NOW, OWNER, publicJwk, sessionToken } from "./fixture.ts";

const ISSUER = "https://ref.supabase.co/auth/v1";
const SHARED_KEY = "a-shared-key-of-more-than-32-characters";
const now = () => NOW;
const verify = createSessionVerifier({ jwks: { keys: [publicJwk] }, issuers: [ISSUER], now });
const verifyBoth = createSessionVerifier({
  jwks: { keys: [publicJwk] },
  sharedKey: SHARED_KEY,
  issuers: [ISSUER],
  now,
});
const claims = { iss: ISSUER, aud: "authenticated", role: "authenticated", sub: OWNER, exp: NOW.getTime() / 1000 + 60 };
const signHs256 = (key: string, header = {}, payload: Record<string, unknown> = claims) =>
  new SignJWT(payload).setProtectedHeader({ alg: "HS256", ...header }).sign(new TextEncoder().encode(key));

async function refusal(authorization: string | null, verifier = verify): Promise<string> {
  const error = await verifier(authorization).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) throw new Error(`Not refused: ${String(error)}`);
  expect([error.code, error.status]).toEqual(["unauthorized", 401]);
  return error.message;
}

test("an RS256 token of a key in the JWKS → its owner", async () => {
  const rsa = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...(await crypto.subtle.exportKey("jwk", rsa.publicKey)), kid: "rsa", kty: "RSA", key_ops: ["verify"] };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "rsa" }).sign(rsa.privateKey);
  const verifier = createSessionVerifier({ jwks: { keys: [publicJwk, jwk] }, issuers: [ISSUER], now });
  expect(await verifier(`Bearer ${token}`)).toMatchObject({ ownerId: OWNER });
});

test("an HS256 token signed with the shared key → its owner only where that key is set, in addition to the JWKS", async () => {
  expect(await verifyBoth(`Bearer ${await sessionToken(ISSUER)}`)).toMatchObject({ ownerId: OWNER });
  const token = await signHs256(SHARED_KEY);
  expect(await verifyBoth(`Bearer ${token}`)).toMatchObject({ ownerId: OWNER, token });
  expect(await refusal(`Bearer ${token}`)).toMatch("not valid");
  expect(await refusal(`Bearer ${await signHs256("another-key-of-more-than-32-characters")}`, verifyBoth)).toMatch(
    "not valid",
  );
});

test("an oct key within the JWKS, as supabase start lists one → is not used for HS256", async () => {
  const oct = { kty: "oct", k: btoa(SHARED_KEY).replaceAll("=", ""), kid: "shared", alg: "HS256" };
  const verifier = createSessionVerifier({ jwks: { keys: [oct, publicJwk] }, issuers: [ISSUER], now });
  await refusal(`Bearer ${await signHs256(SHARED_KEY, { kid: "shared" })}`, verifier);
  expect(await verifier(`Bearer ${await sessionToken(ISSUER)}`)).toMatchObject({ ownerId: OWNER });
});

test("no token → an error that says it is missing; an expired one → says that it has expired, to the second", async () => {
  expect(await refusal(null)).toMatch("missing");
  const seconds = NOW.getTime() / 1000;
  expect(await refusal(`Bearer ${await sessionToken(ISSUER, { exp: seconds })}`)).toMatch("expired");
  expect(await verify(`Bearer ${await sessionToken(ISSUER, { exp: seconds + 1 })}`)).toMatchObject({ ownerId: OWNER });
});

// Claims and signatures that are wrong, on the running stack: test/security/tokens.test.ts.
describe("hostile tokens where the shared key is set, too", () => {
  test.each([{ iss: "https://other.supabase.co/auth/v1" }, { role: "service_role" }])(
    "HS256 signed with the shared key, with %j → refused",
    async (change) => {
      expect(await refusal(`Bearer ${await signHs256(SHARED_KEY, {}, { ...claims, ...change })}`, verifyBoth)).toMatch(
        "not valid",
      );
    },
  );
  test("HS256 signed with the public key, as PEM and as JWK → refused", async () => {
    for (const key of [await exportSPKI(keys.publicKey), JSON.stringify(publicJwk), publicJwk.x ?? ""]) {
      await refusal(`Bearer ${await signHs256(key, { kid: "key-1" })}`, verifyBoth);
    }
  });
});

describe("a token of Auth with a wrong claim", () => {
  test.each<[claim: string, wrong: unknown[], expected: string]>([
    ["sub", ["user_2abcSECRET", "", undefined, 5, { SECRET: 1 }, `${OWNER}SECRET`], "the id of a user"],
    ["aud", ["SECRET", ["SECRET"], [], undefined], '"authenticated", or a list that has it'],
    ["role", ["SECRET", undefined, ["authenticated"]], '"authenticated"'],
    ["iss", ["https://SECRET.example/auth/v1", undefined], ISSUER],
    ["exp", ["SECRET", undefined], "when it expires, a number"],
    ["nbf", [NOW.getTime() / 1000 + 60], "a time that has passed"],
  ])(
    "a token with a wrong claim %s → refused, naming the claim and its rule, not the value",
    async (claim, wrong, expected) => {
      for (const value of wrong) {
        const sentence = await refusal(`Bearer ${await sessionToken(ISSUER, { [claim]: value })}`);
        expect(sentence).toContain(`its claim ${claim} must be ${expected}`);
        expect(sentence).not.toContain("SECRET");
      }
    },
  );
});

test("a token of another sign-in service, signed with its own key → says that this project's Auth did not sign it", async () => {
  const theirs = await generateKeyPair("RS256");
  const claims = { sub: "user_2abcSECRET", iss: "https://clerk.example", aud: "authenticated", role: "authenticated" };
  const token = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "SECRET" }).sign(theirs.privateKey);
  const sentence = await refusal(`Bearer ${token}`, verifyBoth);
  expect(sentence).toContain("not signed by this project's Auth");
  expect(sentence).not.toContain("SECRET");
});

test("the refusal of a token → does not repeat what was sent", async () => {
  for (const authorization of ["Basic dXNlcjpwYXNz", "Bearer garbage", "Bearer garbage.b.c"]) {
    expect(await refusal(authorization, verifyBoth)).not.toMatch(/garbage|dXNlcjpwYXNz/);
  }
});

describe("a remembered session", () => {
  const counting = (start = NOW) => {
    let checks = 0;
    let clock = start;
    const verifier = createSessionVerifier({ jwks: { keys: [publicJwk] }, issuers: [ISSUER], now: () => clock });
    const counted = (authorization: string | null) => {
      checks += 1;
      return verifier(authorization);
    };
    const at = (seconds: number) => {
      clock = new Date(start.getTime() + seconds * 1000);
    };
    return { verifier: rememberSessions(counted, () => clock, 2), checks: () => checks, at };
  };

  test("a token that was checked → the same owner, its signature checked once", async () => {
    const { verifier, checks } = counting();
    const token = await sessionToken(ISSUER);
    const first = await verifier(`Bearer ${token}`);
    expect([await verifier(`Bearer ${token}`), checks()]).toEqual([first, 1]);
  });
  test("a remembered token that expires → refused all the same", async () => {
    const { verifier, at } = counting();
    const authorization = `Bearer ${await sessionToken(ISSUER)}`;
    await verifier(authorization);
    at(59);
    expect(await verifier(authorization)).toMatchObject({ ownerId: OWNER });
    at(60);
    expect(await refusal(authorization, verifier)).toMatch("expired");
  });
  test("a token that differs in one character → checked again; refusals and missing tokens are not remembered", async () => {
    const { verifier, checks } = counting();
    const token = await sessionToken(ISSUER);
    await verifier(`Bearer ${token}`);
    for (const wrong of [`Bearer ${token.slice(0, -1)}`, `Bearer ${token.slice(0, -1)}`, null, null])
      await refusal(wrong, verifier);
    expect(checks()).toBe(5);
  });
  test("a token of more than 4096 characters, from metadata or spaces → checked each time, not remembered", async () => {
    const { verifier, checks } = counting();
    const long = `Bearer ${await sessionToken(ISSUER, { user_metadata: { about: "x".repeat(4096) } })}`;
    const spaced = `Bearer ${" ".repeat(4096)}${await sessionToken(ISSUER)}`;
    for (const authorization of [long, long, spaced, spaced]) {
      expect(await verifier(authorization)).toMatchObject({ ownerId: OWNER });
    }
    expect(checks()).toBe(4);
  });
  test("more tokens than are remembered → the oldest is dropped first", async () => {
    const { verifier, checks } = counting();
    const [a, b, c] = await Promise.all(
      [1, 2, 3].map(async (jti) => `Bearer ${await sessionToken(ISSUER, { jti: String(jti) })}`),
    );
    for (const authorization of [a, b, c, c, b, a]) await verifier(authorization ?? null);
    expect(checks()).toBe(4);
  });
});
