import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { runProgram } from "../../local/stack/supabase-cli.ts";
import { secretsStage } from "../../tools/deploy/function-stages.ts";
import { createSecretKeeper } from "../../tools/deploy/reporting.ts";
import { readDeployArguments, readDeploySettings } from "../../tools/deploy/settings.ts";
import { createSupabaseCli, explainCliFailure } from "../../tools/deploy/supabase-cli.ts";
import { sha256Hex } from "../../tools/digests.ts";
import { PROJECT } from "../support/tools/deploy-platform.ts";

const GIVEN = readDeployArguments(["--project", PROJECT]);
const read = (environment: Record<string, string>) => readDeploySettings(GIVEN, environment);

test("deploy with --project, --dry-run, --without-mcp and budgets → the options as given", () => {
  const budgets = ["--user-budget", "10", "--service-budget", "99.5"];
  expect(readDeployArguments(["--project", PROJECT, "--dry-run", "--without-mcp", ...budgets])).toEqual({
    project: PROJECT,
    dryRun: true,
    moved: false,
    functions: ["api", "keyframe-generate", "keyframe-replicate-webhook", "keyframe-deliver"],
    budgets: { user: 10_000_000, service: 99_500_000 },
  });
});

test.each([
  [[], "npm run deploy -- --project <ref>"],
  [["--project", "https://abcdefghijklmnopqrst.supabase.co"], "the 20 lowercase letters in its address"],
  [["--project", PROJECT, "--dryrun"], "--help lists the options"],
  [["--project", PROJECT, "--user-budget", "$10"], "--user-budget must be dollars a month"],
  [["--project", PROJECT, "--service-budget", "1e3"], "--service-budget must be dollars a month"],
])("deploy with the arguments %j → refused in one line", (args, said) => {
  expect(() => readDeployArguments(args)).toThrow(said);
});

test("deploy without variables → the project's own address, Replicate's API, nothing passed on; custom domains for apps only", () => {
  const projectUrl = `https://${PROJECT}.supabase.co`;
  const none = read({ KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1" }); // of the shell: never for a hosted project
  expect(none).toMatchObject({ projectUrl, clientUrl: projectUrl, database: undefined });
  expect(none.optional).toEqual({});
  expect(none.replicate).toEqual({ token: undefined, baseUrl: "https://api.replicate.com/v1" });
  const KEYFRAME_CLIENT_URL = "https://api.example.com";
  expect(read({ KEYFRAME_CLIENT_URL: `${KEYFRAME_CLIENT_URL}/` })).toMatchObject({
    projectUrl,
    clientUrl: KEYFRAME_CLIENT_URL,
    optional: { KEYFRAME_CLIENT_URL },
  });
});

test("SUPABASE_DB_URL → its password is kept apart, since everybody can read a command line", () => {
  const { database } = read({ SUPABASE_DB_URL: "postgresql://postgres:a%2Fb@db.example.com:5432/postgres" });
  expect(database).toEqual({ url: "postgresql://postgres@db.example.com:5432/postgres", password: "a/b" });
});

test.each([
  ["SUPABASE_DB_URL", "db.example.com with a pass-word"],
  ["SUPABASE_DB_URL", "https://pass-word@db.example.com"],
  ["SUPABASE_DB_URL", "postgresql://postgres@db.example.com/postgres?password=pass-word"],
  ["SUPABASE_DB_URL", "postgresql://postgres:100%pass-word@db.example.com/postgres"],
  ["KEYFRAME_REPLICATE_API_TOKEN", "r8_it's a pass-word"],
  ["KEYFRAME_REPLICATE_OUTPUT_HOSTS", "https://user:pass-word@example.com"],
  ["KEYFRAME_PUBLIC_URL", "ftp://pass-word.example.com"],
  ["KEYFRAME_JWT_SECRET", "a-short-pass-word"],
  ["KEYFRAME_JWT_SECRET", "of two lines, and with a pass-word\nin the second"],
])("%s = %j, which a function would refuse → refused by its name, its value not repeated", (name, value) => {
  expect(() => read({ [name]: value })).toThrow(name);
  expect(() => read({ [name]: value })).not.toThrow("pass-word");
});

test("the output of a deployment → shows no secret, but ordinary words", () => {
  const keeper = createSecretKeeper();
  for (const secret of ["whsec_abcdefgh", undefined, "a", "eight ch"]) expect(keeper.add(secret)).toBe(secret);
  expect(keeper.hide("a kick with whsec_abcdefgh, whsec_abcdefgh, eight ch!")).toBe("a kick with …, …, …!");
});

test("a program that a deployment starts → has the CLI's login, and neither the functions' secrets nor their settings", async () => {
  const environment = {
    PATH: Deno.env.get("PATH") ?? "",
    HOME: "/home/ada",
    SUPABASE_ACCESS_TOKEN: "sbp_login",
    REPLICATE_API_TOKEN: "r8_of_another_tool",
    KEYFRAME_REPLICATE_API_TOKEN: "r8_secret",
    KEYFRAME_KICK_SECRET: "whsec_secret",
  };
  const print = "console.log(JSON.stringify(Deno.env.toObject()))";
  const ended = await runProgram(Deno.execPath(), ["eval", print], { cwd: "/", environment, env: { PGPASSWORD: "p" } });
  const { PATH: _, ...seen } = JSON.parse(ended.stdout);
  expect(seen).toEqual({ HOME: "/home/ada", SUPABASE_ACCESS_TOKEN: "sbp_login", PGPASSWORD: "p" });
});

test("secrets that a project has already → only the others are set; the CLI sets only some → the stage fails", async () => {
  const KEYFRAME_CLIENT_URL = "https://film.example.com";
  const setting = async (count: number) =>
    await secretsStage.plan({
      settings: read({ KEYFRAME_REPLICATE_API_TOKEN: "r8_secret", KEYFRAME_CLIENT_URL }),
      cli: { ...createSupabaseCli(PROJECT, {}), read: async (_doing, _args, form) => form.parse({ count }) },
      fetch,
      clock: { now: Date.now, sleep: async () => undefined, timeout: AbortSignal.timeout },
      keeper: createSecretKeeper(),
      stop: new AbortController().signal,
      found: {
        secretDigests: new Map([
          ["KEYFRAME_CLIENT_URL", sha256Hex(KEYFRAME_CLIENT_URL).toUpperCase()],
          ["KEYFRAME_REPLICATE_API_TOKEN", sha256Hex("another")],
        ]),
        kickSecret: "whsec_kick",
      },
    });
  const { says, apply } = await setting(2);
  expect(says).toBe("to set: KEYFRAME_REPLICATE_API_TOKEN, KEYFRAME_KICK_SECRET");
  await apply?.();
  await expect((await setting(1)).apply?.()).rejects.toThrow("did not confirm every secret");
});

test.each([
  ["failed to list secrets: TransportError", "set HTTPS_PROXY"],
  ["Remote migration versions not found in local migrations directory.", "docs/upgrade.md"],
  ["unexpected deploy status 413: too large", "docs/deploy.md says how to bundle it on this machine"],
  ["an unknown error", "an unknown error. Fix the cause, then run the command again: finished stages are kept."],
])("the CLI fails with %j → says that, and what to do", (message, remedy) => {
  const stdout = JSON.stringify({ _tag: "Error", error: { code: "X", message } });
  const said = explainCliFailure("trying", { stdout, stderr: "Target: project ref\n" });
  expect(said).toContain(`Failed while trying. The Supabase CLI said: ${message}`);
  expect(said).toContain(remedy);
});

test("the CLI fails with a message that is not JSON → shows it as printed", () => {
  const stdout = String.raw`{"error":{"message":"no folder C:\Users"}}`;
  expect(explainCliFailure("trying", { stdout, stderr: "" })).toContain(String.raw`"no folder C:\Users"`);
});

test.each(["docs/deploy.md", "docs/going-live.md", "docs/upgrade.md"])(
  "the commands in %s that change a project → work without a terminal: each has --yes",
  (path) => {
    const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
    const changing = text.match(
      /npx supabase (config push|db push|secrets (un)?set|functions deploy|migration repair)[^`\n]*/g,
    );
    expect(changing?.length).toBeGreaterThan(1);
    expect(changing?.filter((command) => !command.includes("--yes"))).toEqual([]);
  },
);
