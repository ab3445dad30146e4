import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createSupabaseCli } from "../../tools/deploy/supabase-cli.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { DeployPlatform, PROJECT } from "../support/tools/deploy-platform.ts";
import { forgetProject, logIn } from "../support/tools/deploy-scene.ts";

// What needs the Supabase CLI and no database: supabase/config.toml as the CLI itself reads it.

let folder: string;
let platform: DeployPlatform;
let login: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-deploy-config-"));
  platform = new DeployPlatform("postgresql://nobody@127.0.0.1:1/none");
  login = await logIn(platform, folder);
});
afterEach(() => {
  platform.faults = {};
});
afterAll(async () => {
  await platform.stop();
  await forgetProject();
  await rm(folder, { recursive: true });
});

test("config.toml → the CLI knows every line, and would change nothing that the owner of a project decides", async () => {
  const printed = JSON.parse(await createSupabaseCli(PROJECT, login).run("reading", ["config", "diff"]));
  // What the CLI prints; another form fails the comparison below.
  const { changes } = printed as { changes: { path: string[]; declared: boolean; local: unknown; remote: unknown }[] };
  const declared = changes.filter((change) => change.declared).map(({ path, local }) => [path.join("."), local]);
  expect(declared).toEqual([["api.schemas", ["public", "graphql_public", "keyframe", "keyframe_worker"]]]);
  const left = changes.filter((change) => !change.declared).map(({ path }) => path.join("."));
  expect(left).toContain("auth.site_url");
  expect(left).toContain("auth.email.enable_confirmations");
});

test("a function that imports a file that is not there → the deployment fails, though the CLI only warns", async () => {
  const root = join(folder, "checkout");
  for (const part of ["supabase", "shared"]) await cp(join(PROJECT_ROOT, part), join(root, part), { recursive: true });
  const path = join(root, "shared/api/app.ts");
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace(/from "\.\/\w[\w-]*\.ts"/, 'from "./not-there.ts"'));
  const cli = createSupabaseCli(PROJECT, login, root);
  const deploying = cli.run("deploying", ["functions", "deploy", "--use-api", "--yes", "api"]);
  await expect(deploying).rejects.toThrow(
    /The Supabase CLI warned while deploying: WARN: .*not-there\.ts.* Correct what it warns about, then deploy again\.$/s,
  );
});

test("a platform that does not answer → the command is ended after its time limit, and says what to do", async () => {
  const silence = Promise.withResolvers<undefined>();
  platform.faults = { "GET /secrets": () => silence.promise };
  const listing = createSupabaseCli(PROJECT, login).run("looking", ["secrets", "list"], { limitMs: 1_000 });
  await expect(listing).rejects.toThrow(
    /looking: the Supabase CLI got no answer and was stopped.*status\.supabase\.com/,
  );
  silence.resolve(undefined);
});
