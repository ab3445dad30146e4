import { expect, test } from "vitest";
import { serveHealth } from "../../../worker/health.ts";
import { readWorkerSettings } from "../../../worker/settings.ts";

const good: Record<string, string> = {
  SUPABASE_URL: "https://ref.supabase.co/",
  SUPABASE_SECRET_KEYS: '{"default":"sb_secret_x"}',
  KEYFRAME_REPLICATE_API_TOKEN: "r8_x",
};
const DIRECT = "postgres://keyframe_login:geheim@db.example:5432/postgres";
const read = (given: { only?: string; listen?: string } = {}, change: Record<string, string> = {}) =>
  readWorkerSettings(given, (name) => ({ ...good, ...change })[name]);

test("the settings of edge functions, without a kick secret → both workers by the Data API, no health address", () => {
  expect(read()).toMatchObject({
    database: { SUPABASE_URL: "https://ref.supabase.co", SUPABASE_SECRET_KEYS: "sb_secret_x" },
    health: undefined,
    generate: { KEYFRAME_REPLICATE_API_BASE_URL: "https://api.replicate.com/v1" },
    deliver: { KEYFRAME_ALLOW_LOCAL_WEBHOOKS: false },
  });
});

test("SUPABASE_DB_URL → a direct connection; deliver then needs only its project's address, generate also Storage", () => {
  const none = { SUPABASE_SECRET_KEYS: "", KEYFRAME_REPLICATE_API_TOKEN: "", SUPABASE_DB_URL: DIRECT };
  const { address, database, generate } = read({ only: "deliver" }, none);
  expect({ address, database, generate }).toEqual({
    ...{ address: "https://ref.supabase.co", database: new URL(DIRECT), generate: null },
  });
  expect(() => read({ only: "deliver" }, { ...none, SUPABASE_URL: "" })).toThrow(
    "Environment: SUPABASE_URL is missing.",
  );
  expect(() => read({ only: "generate" }, none)).toThrow(
    "Environment: SUPABASE_SECRET_KEYS is missing; KEYFRAME_REPLICATE_API_TOKEN is missing.",
  );
});

test.each([
  [{ KEYFRAME_WORKER_LISTEN: "8080" }, {}, { hostname: "127.0.0.1", port: 8080 }],
  [{ KEYFRAME_WORKER_LISTEN: "8080" }, { listen: "0.0.0.0:9090" }, { hostname: "0.0.0.0", port: 9090 }],
  [{}, { listen: "[::]:1" }, { hostname: "::", port: 1 }],
])("%j and %j → health at %j", (change, given, health) => {
  expect(read(given, change).health).toEqual(health);
});

test.each([
  ["SUPABASE_URL", "geheim"],
  ["SUPABASE_SECRET_KEYS", "geheim"],
  ["SUPABASE_SECRET_KEYS", '{"default":"geheim\\n"}'],
  ["SUPABASE_SECRET_KEYS", '{"default":"geheim✓"}'],
  ["KEYFRAME_REPLICATE_API_TOKEN", "r8_\ngeheim"],
  ["SUPABASE_DB_URL", "https://x:geheim@db.example"],
  ["SUPABASE_DB_URL", "postgres:geheim"],
  ["SUPABASE_DB_URL", "postgres://x:geheim@db.example/?sslmode=prefer"],
  ["SUPABASE_DB_URL", "postgres://x:geheim@db.example/?sslmode=constructor"],
  ["KEYFRAME_WORKER_LISTEN", "geheim"],
  ["KEYFRAME_WORKER_LISTEN", "65536"],
  ["KEYFRAME_REPLICATE_OUTPUT_HOSTS", "https://geheim/path"],
])("%s = %s → named as wrong, without its value", (name, value) => {
  expect(() => read({}, { [name]: value })).toThrow(new RegExp(`^Environment: ${name} is wrong \\([^)]*\\)\\.$`));
  expect(() => read({}, { [name]: value })).not.toThrow(/geheim/);
});

test("--only with an unknown name → refused, naming the valid ones", () => {
  expect(() => read({ only: "api" })).toThrow('--only must be generate or deliver, not "api".');
});

test("a health address that is in use → refused, naming the address", async () => {
  const server = serveHealth([], { hostname: "127.0.0.1", port: 0 });
  const taken = { hostname: "127.0.0.1", port: server.addr.port };
  expect(() => serveHealth([], taken)).toThrow(`--listen 127.0.0.1:${taken.port}: Address already in use`);
  await server.shutdown();
});
