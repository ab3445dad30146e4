import { join } from "node:path";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { type DeployPlatform, PROJECT } from "./deploy-platform.ts";

/** Any that has the form of one. */
export const ACCESS_TOKEN = `sbp_${"0123456789".repeat(4)}`;

/** The environment in which the Supabase CLI is logged in to the platform on loopback, with a home of its own. */
export async function logIn(platform: DeployPlatform, home: string): Promise<Record<string, string>> {
  const profile = join(home, "profile.yaml");
  await Deno.writeTextFile(
    profile,
    `name: loopback
api_url: ${platform.url}
dashboard_url: ${platform.url}
project_host: keyframe.invalid
`,
  );
  return {
    PATH: Deno.env.get("PATH") ?? "",
    HOME: home,
    SUPABASE_PROFILE: profile,
    SUPABASE_ACCESS_TOKEN: ACCESS_TOKEN,
    PGSSLMODE: "disable",
  };
}

/** The CLI notes in the checkout which project it saw last; a made-up one must not stay there. */
export async function forgetProject(): Promise<void> {
  const path = join(PROJECT_ROOT, "supabase/.temp/linked-project.json");
  const noted = await Deno.readTextFile(path).catch(() => "");
  if (noted.includes(PROJECT)) await Deno.remove(path).catch(() => undefined);
}
