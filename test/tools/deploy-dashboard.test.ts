import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readDeploySettings } from "../../tools/deploy/settings.ts";
import { runDeployment } from "../../tools/deploy/run-deployment.ts";
import { createSecretKeeper } from "../../tools/deploy/output.ts";
import { dashboardStage } from "../../tools/deploy/dashboard-stage.ts";
import { createSupabaseCli } from "../../tools/deploy/supabase-cli.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { forgetProject, logIn } from "../support/tools/deploy-login.ts";
import { DeployPlatform, PROJECT } from "../support/tools/deploy-platform.ts";
import { hastyClock, silent } from "../support/tools/deploy-scene.ts";

const BUILT = join(PROJECT_ROOT, ".keyframe", `dashboard-${PROJECT}`);
// The CLI starts slowly on a busy machine, and a build takes a while.
vi.setConfig({ testTimeout: 120_000 });

let folder: string;
let platform: DeployPlatform;
let login: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-deploy-dashboard-"));
  platform = new DeployPlatform("postgresql://nobody@127.0.0.1:1/none");
  login = await logIn(platform, folder);
});
afterAll(async () => {
  await platform.stop();
  await forgetProject();
  await rm(BUILT, { recursive: true, force: true });
  await rm(folder, { recursive: true });
});

/** The last stage alone; the others have tests of their own. */
async function build(): Promise<string[]> {
  const given = { help: false, project: PROJECT, dryRun: false, dashboard: true, localBundling: false } as const;
  const printed: string[] = [];
  const deployment = {
    settings: readDeploySettings(given, {}),
    cli: createSupabaseCli(PROJECT, login, silent),
    fetch,
    clock: hastyClock(),
    progress: silent,
    keeper: createSecretKeeper(),
    found: { secretDigests: new Map<string, string>() },
  };
  await runDeployment(deployment, (line) => printed.push(line), [dashboardStage]);
  return printed;
}

test("--dashboard → static files that know the project's address and its publishable key", async () => {
  expect((await build()).join("\n")).toContain(BUILT);
  expect(JSON.parse(await readFile(join(BUILT, "config.json"), "utf8"))).toMatchObject({
    supabaseUrl: `https://${PROJECT}.supabase.co`,
    publishableKey: "sb_publishable_of_film",
  });
  expect(await readFile(join(BUILT, "index.html"), "utf8")).toContain(`https://${PROJECT}.supabase.co`);
});

test("a project without a publishable key → the deployment ends with how to make one", async () => {
  platform.faults = { "GET /api-keys": { status: 200, body: [] } };
  await expect(build()).rejects.toThrow(/Dashboard: The project has no publishable key.*API Keys/s);
});
