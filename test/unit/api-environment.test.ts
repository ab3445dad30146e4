import { expect, test } from "vitest";
import { z } from "zod";
import { readEnvironment, supabaseSecretKeys, webhookSecret } from "../../shared/platform/environment.ts";
import { apiEnvironment } from "../../supabase/functions/api/environment.ts";

const good: Record<string, string> = {
  SUPABASE_URL: "http://127.0.0.1:54321/",
  SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_x","other":"sb_publishable_y"}',
  SUPABASE_JWKS: '{"keys":[{"kty":"EC","kid":"1","crv":"P-256","x":"x","y":"y"}]}',
  SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
};
const read = (change: Record<string, string> = {}) => {
  const source = { ...good, ...change };
  return readEnvironment(apiEnvironment, (name) => source[name]);
};

test("what the platform gives → addresses without a trailing slash, the default key, the public keys", () => {
  expect(read()).toMatchObject({
    SUPABASE_URL: "http://127.0.0.1:54321",
    SUPABASE_PUBLISHABLE_KEYS: "sb_publishable_x",
    SUPABASE_JWKS: { keys: [{ kty: "EC", kid: "1" }] },
    SUPABASE_SECRET_KEYS: "sb_secret_x",
  });
});

test("missing and empty variables → one line that names them all", () => {
  expect(() => read({ SUPABASE_URL: "", SUPABASE_JWKS: "" })).toThrow(
    /^Environment: SUPABASE_URL is missing; SUPABASE_JWKS is missing\.$/,
  );
});

test.each([
  ["SUPABASE_URL", "postgres://secret"],
  ["SUPABASE_PUBLISHABLE_KEYS", "secret"],
  ["SUPABASE_PUBLISHABLE_KEYS", '{"other":"secret"}'],
  ["SUPABASE_JWKS", '{"secret":1}'],
  ["SUPABASE_SECRET_KEYS", '{"other":"secret"}'],
  ["KEYFRAME_ALLOW_LOCAL_WEBHOOKS", "secret"],
  ["KEYFRAME_JWT_SECRET", "secret"],
  ["KEYFRAME_CLIENT_URL", "secret"],
])("%s = %s → named as wrong, without its value", (name, value) => {
  expect(() => read({ [name]: value })).toThrow(new RegExp(`^Environment: ${name} is wrong \\(must [^)]*\\)\\.$`));
  expect(() => read({ [name]: value })).not.toThrow(/secret/);
});

test("only the variables of the schema are asked for", () => {
  const asked: string[] = [];
  readEnvironment(apiEnvironment, (name) => {
    asked.push(name);
    return good[name];
  });
  expect(asked.sort()).toEqual([
    "KEYFRAME_ALLOW_LOCAL_WEBHOOKS",
    "KEYFRAME_CLIENT_URL",
    "KEYFRAME_JWT_SECRET",
    "SUPABASE_JWKS",
    "SUPABASE_PUBLISHABLE_KEYS",
    "SUPABASE_SECRET_KEYS",
    "SUPABASE_URL",
  ]);
});

test("secret keys and signing secrets of the other functions", () => {
  const schema = z.object({ SUPABASE_SECRET_KEYS: supabaseSecretKeys, KEYFRAME_KICK_SECRET: webhookSecret });
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  expect(
    readEnvironment(schema, (name) => (name === "KEYFRAME_KICK_SECRET" ? secret : '{"default":"sb_secret_x"}')),
  ).toEqual({
    SUPABASE_SECRET_KEYS: "sb_secret_x",
    KEYFRAME_KICK_SECRET: secret,
  });
  expect(() => readEnvironment(schema, () => "whsec_short")).toThrow(
    /SUPABASE_SECRET_KEYS is wrong .*KEYFRAME_KICK_SECRET is wrong/,
  );
});
