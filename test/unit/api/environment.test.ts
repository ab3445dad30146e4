import { expect, test } from "vitest";
import { functionEnvironments, readEnvironment } from "../../../shared/platform/environment.ts";

const good: Record<string, string> = {
  SUPABASE_URL: "http://127.0.0.1:54321/",
  SUPABASE_PUBLISHABLE_KEYS: '{"default":"sb_publishable_x","other":"sb_publishable_y"}',
  SUPABASE_JWKS: '{"keys":[{"kty":"EC","kid":"1","crv":"P-256","x":"x","y":"y"}]}',
  SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
};
const read = (change: Record<string, string> = {}) => {
  const source = { ...good, ...change };
  return readEnvironment(functionEnvironments.api, (name) => source[name]);
};

test("the platform's environment → addresses without a trailing slash, the default key, the public keys", () => {
  expect(read()).toMatchObject({
    SUPABASE_URL: "http://127.0.0.1:54321",
    SUPABASE_PUBLISHABLE_KEYS: "sb_publishable_x",
    SUPABASE_JWKS: { keys: [{ kty: "EC", kid: "1" }] },
    SUPABASE_SECRET_KEYS: "sb_secret_x",
  });
});

test("missing and empty environment variables → one line that names them all", () => {
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

test.each([
  [{ KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "" }, false],
  [{ KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "0" }, false],
  [{ KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1" }, true],
  [{ KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "true" }, "KEYFRAME_ALLOW_LOCAL_WEBHOOKS is wrong (must be 0 or 1)"],
  [{ KEYFRAME_ALLOW_LOCAL_WEBHOOKS: " 1" }, "KEYFRAME_ALLOW_LOCAL_WEBHOOKS is wrong (must be 0 or 1)"],
  [{ KEYFRAME_KICK_SECRET: "whsec_short" }, "KEYFRAME_KICK_SECRET is wrong"],
])("deliver: %j → local receivers allowed or not, or refused: %s", (change, outcome) => {
  const source: Record<string, string> = { ...good, KEYFRAME_KICK_SECRET: `whsec_${btoa("a".repeat(32))}`, ...change };
  const readDeliver = () => readEnvironment(functionEnvironments["keyframe-deliver"], (name) => source[name]);
  if (typeof outcome === "string") expect(readDeliver).toThrow(outcome);
  else
    expect(readDeliver()).toMatchObject({
      SUPABASE_SECRET_KEYS: "sb_secret_x",
      KEYFRAME_ALLOW_LOCAL_WEBHOOKS: outcome,
    });
});
