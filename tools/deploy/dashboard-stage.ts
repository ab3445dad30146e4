import { join } from "node:path";
import { z } from "zod";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { DeployError } from "./output.ts";
import { runCommand } from "./run-command.ts";
import type { Deployment, Stage } from "./stage.ts";
import { parseJson } from "../parse-json.ts";

const LIMIT_MS = 15 * 60_000;

const listed = z.object({ keys: z.array(z.object({ api_key: z.string().nullish(), type: z.string().nullish() })) });

/** Builds the dashboard for this project as static files for any web host. */
export const dashboardStage: Stage = {
  name: "Dashboard",
  plan: async (deployment) => {
    const { settings } = deployment;
    const folder = join(PROJECT_ROOT, ".keyframe", `dashboard-${settings.project}`);
    return {
      says: `to build into ${folder}`,
      apply: async () => {
        const built = build(deployment, await publishableKey(deployment), folder);
        await deployment.progress.during("building the dashboard", built);
        return "built: put the folder on any static host, as docs/deploy.md says";
      },
    };
  },
};

async function publishableKey({ cli }: Deployment): Promise<string> {
  const answer = listed.safeParse(parseJson(await cli.run("reading the publishable key", ["projects", "api-keys"])));
  const keys = answer.success ? answer.data.keys : [];
  const key = keys.find(({ type }) => type === "publishable")?.api_key;
  if (key) return key;
  throw new DeployError(
    "The project has no publishable key: make one (Project Settings → API Keys) and run the command again. The functions need it too.",
  );
}

async function build({ settings, stop }: Deployment, key: string, folder: string): Promise<void> {
  const vite = join(PROJECT_ROOT, "node_modules/vite/bin/vite.js");
  const { code, stderr } = await runCommand(
    Deno.execPath(),
    ["run", "-A", vite, "build", "dashboard", "--outDir", folder, "--logLevel", "warn"],
    {
      cwd: PROJECT_ROOT,
      limitMs: LIMIT_MS,
      environment: Deno.env.toObject(),
      stop,
      // With a shell's NODE_ENV=development the build would hold React's checks and be half as large again.
      env: { SUPABASE_URL: settings.clientUrl, SUPABASE_PUBLISHABLE_KEY: key, NODE_ENV: "production" },
    },
  );
  if (code !== 0) throw new DeployError(`The dashboard could not be built: ${stderr.trim().slice(-500)}`);
}
