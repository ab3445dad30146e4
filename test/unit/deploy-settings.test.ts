import { expect, test } from "vitest";
import { readDeployArguments } from "../../local/deploy/read-deploy-arguments.ts";
import { readDeploySettings } from "../../local/deploy/read-deploy-settings.ts";

const REF = "abcdefghijklmnopqrst";
const given = { help: false, project: REF, dryRun: false, dashboard: false } as const;

test("the arguments → what they say", () => {
  expect(readDeployArguments(["--project", REF])).toEqual(given);
  expect(readDeployArguments(["--project", REF, "--dry-run", "--dashboard"])).toMatchObject({
    dryRun: true,
    dashboard: true,
  });
  expect(readDeployArguments(["--help"])).toEqual({ help: true });
});

test.each([
  [[], "npm run deploy -- --project <ref>"],
  [["--project", "https://abcdefghijklmnopqrst.supabase.co"], "the 20 small letters in its address"],
  [["--project", "ABCDEFGHIJKLMNOPQRST"], "the 20 small letters in its address"],
  [["--project", REF, "--dryrun"], "--help lists what there is"],
  [[REF], "--help lists what there is"],
])("the arguments %j → refused in one line", (args, said) => {
  expect(() => readDeployArguments(args)).toThrow(said);
});

test("no variable at all → the project's own address, Replicate's own API, nothing passed on", () => {
  expect(readDeploySettings(given, {})).toEqual({
    project: REF,
    dryRun: false,
    dashboard: false,
    projectUrl: `https://${REF}.supabase.co`,
    clientUrl: `https://${REF}.supabase.co`,
    replicate: { token: undefined, baseUrl: "https://api.replicate.com/v1" },
    databaseUrl: undefined,
    optional: {},
  });
});

test("a custom domain → apps use it, functions are still kicked at the project's address", () => {
  const settings = readDeploySettings(given, { KEYFRAME_CLIENT_URL: "https://api.example.com" });
  expect(settings).toMatchObject({
    projectUrl: `https://${REF}.supabase.co`,
    clientUrl: "https://api.example.com",
    optional: { KEYFRAME_CLIENT_URL: "https://api.example.com" },
  });
});

test("KEYFRAME_ALLOW_LOCAL_WEBHOOKS set in the shell → never reaches a hosted project", () => {
  expect(readDeploySettings(given, { KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1" }).optional).toEqual({});
});

test.each([
  ["KEYFRAME_CLIENT_URL", "https://api.example.com/"],
  ["KEYFRAME_CLIENT_URL", "api.example.com"],
  ["REPLICATE_API_BASE_URL", "ftp://example.com"],
  ["SUPABASE_DB_URL", "db.example.com with a pass-word"],
  ["SUPABASE_DB_URL", "https://pass-word@db.example.com"],
])("%s = %j → refused by its name, its value not repeated", (name, value) => {
  const read = () => readDeploySettings(given, { [name]: value });
  expect(read).toThrow(name);
  expect(read).not.toThrow(/pass-word|ftp:/);
});
