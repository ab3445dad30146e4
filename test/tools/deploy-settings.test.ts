import { expect, test } from "vitest";
import { readDeployArguments, readDeploySettings } from "../../tools/deploy/settings.ts";

const REF = "abcdefghijklmnopqrst";
const budgets = { user: undefined, service: undefined };
const given = { project: REF, dryRun: false, budgets } as const;

test("the arguments → what they say", () => {
  expect(readDeployArguments(["--project", REF])).toEqual(given);
  expect(readDeployArguments(["--project", REF, "--dry-run"])).toEqual({ ...given, dryRun: true });
  expect(readDeployArguments(["--project", REF, "--user-budget", "10", "--service-budget", "99.5"])).toEqual({
    ...given,
    budgets: { user: 10_000_000, service: 99_500_000 },
  });
});

test.each([
  [[], "npm run deploy -- --project <ref>"],
  [["--project", "https://abcdefghijklmnopqrst.supabase.co"], "the 20 small letters in its address"],
  [["--project", "ABCDEFGHIJKLMNOPQRST"], "the 20 small letters in its address"],
  [["--project", REF, "--dryrun"], "--help lists what there is"],
  [[REF], "--help lists what there is"],
  [["--project", REF, "--user-budget", "$10"], "--user-budget takes dollars a month"],
  [["--project", REF, "--service-budget", "1e3"], "--service-budget takes dollars a month"],
])("the arguments %j → refused in one line", (args, said) => {
  expect(() => readDeployArguments(args)).toThrow(said);
});

test("no variable at all → the project's own address, Replicate's own API, nothing passed on", () => {
  expect(readDeploySettings(given, {})).toEqual({
    project: REF,
    dryRun: false,
    budgets,
    projectUrl: `https://${REF}.supabase.co`,
    clientUrl: `https://${REF}.supabase.co`,
    replicate: { token: undefined, baseUrl: "https://api.replicate.com/v1" },
    database: undefined,
    optional: {},
  });
});

test("a custom domain → apps use it, without a slash at its end; functions are still kicked at the project's address", () => {
  expect(readDeploySettings(given, { KEYFRAME_CLIENT_URL: "https://api.example.com/" })).toMatchObject({
    projectUrl: `https://${REF}.supabase.co`,
    clientUrl: "https://api.example.com",
    optional: { KEYFRAME_CLIENT_URL: "https://api.example.com" },
  });
});

test("KEYFRAME_ALLOW_LOCAL_WEBHOOKS set in the shell → never reaches a hosted project", () => {
  expect(readDeploySettings(given, { KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1" }).optional).toEqual({});
});

test.each([
  ["KEYFRAME_CLIENT_URL", "api.example.com"],
  ["KEYFRAME_REPLICATE_API_BASE_URL", "ftp://example.com"],
  ["SUPABASE_DB_URL", "db.example.com with a pass-word"],
  ["SUPABASE_DB_URL", "https://pass-word@db.example.com"],
  ["SUPABASE_DB_URL", "postgresql://postgres@db.example.com/postgres?password=pass-word"],
  ["SUPABASE_DB_URL", "postgresql://postgres:100%pass-word@db.example.com/postgres"],
  ["KEYFRAME_REPLICATE_API_TOKEN", "r8_it's"],
  ["KEYFRAME_REPLICATE_OUTPUT_HOSTS", "https://user@/x"],
  ["KEYFRAME_REPLICATE_OUTPUT_HOSTS", "https://user:pass-word@example.com"],
  ["KEYFRAME_PUBLIC_URL", "ftp://example.com"],
  ["KEYFRAME_JWT_SECRET", "a-short-pass-word"],
  ["KEYFRAME_JWT_SECRET", "of two lines, and with a pass-word\nin the second"],
])("%s = %j, which a function would refuse → refused by its name, its value not repeated", (name, value) => {
  const read = () => readDeploySettings(given, { [name]: value });
  expect(read).toThrow(name);
  expect(read).not.toThrow(/pass-word|ftp:|user@/);
});

const OTHER = "otherotherotherother";
test.each([
  `postgresql://postgres:pass-word@db.${OTHER}.supabase.co:5432/postgres`,
  `postgresql://postgres.${OTHER}:pass-word@aws-0-eu-central-1.pooler.supabase.com:5432/postgres`,
])("SUPABASE_DB_URL = %s, of another project → refused, both projects named", (url) => {
  expect(() => readDeploySettings(given, { SUPABASE_DB_URL: url })).toThrow(
    `is of the project ${OTHER}, and --project says ${REF}`,
  );
});

test.each([
  [`postgresql://postgres:a%2Fb@db.${REF}.supabase.co:5432/postgres`, true],
  [`postgresql://postgres.${REF}:a%2Fb@aws-0-eu-central-1.pooler.supabase.com:5432/postgres`, true],
  [`postgresql://postgres:a%2Fb@db.${REF}.supabase.co:5432/postgres?host=db.${OTHER}.supabase.co`, false],
  [`postgresql://postgres.${REF}:a%2Fb@localhost:5432/postgres`, false],
])("SUPABASE_DB_URL = %s → its password apart; whether the address proves the project: %s", (url, isNamed) => {
  expect(readDeploySettings(given, { SUPABASE_DB_URL: url }).database).toEqual({
    url: url.replace(":a%2Fb", ""),
    password: "a/b",
    isNamed,
  });
});
