import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { createSupabaseCli, type SupabaseCli } from "../../tools/deploy/supabase-cli.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { DeployPlatform, PROJECT } from "../support/tools/deploy-platform.ts";
import { forgetProject, logIn, silent } from "../support/tools/deploy-scene.ts";

// What needs the Supabase CLI and no database: supabase/config.toml as the CLI itself reads it.
// The CLI starts slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

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

const compare = (cli: SupabaseCli) => cli.run("reading config.toml", ["config", "diff"]);

/** A checkout of its own, with one thing replaced in one of its files. */
async function checkoutWith(path: string, from: string | RegExp, to: string): Promise<SupabaseCli> {
  const root = await mkdtemp(join(folder, "checkout-"));
  for (const part of ["supabase", "shared"]) await cp(join(PROJECT_ROOT, part), join(root, part), { recursive: true });
  const text = await readFile(join(root, path), "utf8");
  expect(text.replace(from, to)).not.toBe(text);
  await writeFile(join(root, path), text.replace(from, to));
  return createSupabaseCli(PROJECT, login, silent, root);
}

test("config.toml → the CLI knows every line, and would change nothing that the owner of a project decides", async () => {
  const printed = JSON.parse(await compare(createSupabaseCli(PROJECT, login, silent)));
  // What the CLI prints; another form fails the comparison below.
  const { changes } = printed as { changes: { path: string[]; declared: boolean; local: unknown; remote: unknown }[] };
  const declared = changes.filter((change) => change.declared).map(({ path, local }) => [path.join("."), local]);
  expect(declared).toEqual([["api.schemas", ["public", "graphql_public", "keyframe", "keyframe_worker"]]]);
  const left = changes.filter((change) => !change.declared).map(({ path }) => path.join("."));
  expect(left).toContain("auth.site_url");
  expect(left).toContain("auth.email.enable_confirmations");
});

test("config.toml with a line the CLI does not know → refused, by the line's name", async () => {
  const cli = await checkoutWith("supabase/config.toml", "max_rows = 1000", "max_rowz = 1000");
  await expect(compare(cli)).rejects.toThrow(
    /warned while reading config.toml.*api\.max_rowz.* Correct what it warns about, then deploy again\.$/s,
  );
});

test("a function that imports a file that is not there → the deployment fails, though the CLI only warns", async () => {
  const cli = await checkoutWith("supabase/functions/api/app.ts", /from "\.\/\w[\w-]*\.ts"/, 'from "./not-there.ts"');
  const deploying = cli.run("deploying", ["functions", "deploy", "--use-api", "--yes", "api"]);
  await expect(deploying).rejects.toThrow(/The Supabase CLI warned while deploying: WARN: .*not-there\.ts/s);
});

test("a platform that does not answer → the command is ended after its time, and what to do", async () => {
  const silence = Promise.withResolvers<undefined>();
  platform.faults = { "GET /secrets": () => silence.promise };
  const listing = createSupabaseCli(PROJECT, login, silent).run("looking", ["secrets", "list"], { limitMs: 1_000 });
  await expect(listing).rejects.toThrow(/looking: the Supabase CLI got no answer and was ended.*status\.supabase\.com/);
  silence.resolve(undefined);
});
