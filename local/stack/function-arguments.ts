import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";
import { apiEnvironment } from "../../supabase/functions/api/environment.ts";
import { deliverEnvironment } from "../../supabase/functions/keyframe-deliver/environment.ts";
import { generateEnvironment } from "../../supabase/functions/keyframe-generate/environment.ts";
import { webhookEnvironment } from "../../supabase/functions/keyframe-replicate-webhook/environment.ts";

/** The edge functions by name, which is also their folder's and is in their URL. */
export const FUNCTION_NAMES = ["api", "keyframe-generate", "keyframe-replicate-webhook", "keyframe-deliver"] as const;
export type FunctionName = (typeof FUNCTION_NAMES)[number];

/** The variables each function reads; it is permitted no others. */
export const FUNCTION_VARIABLES: Record<FunctionName, string[]> = {
  api: Object.keys(apiEnvironment.shape),
  "keyframe-generate": Object.keys(generateEnvironment.shape),
  "keyframe-replicate-webhook": Object.keys(webhookEnvironment.shape),
  "keyframe-deliver": Object.keys(deliverEnvironment.shape),
};

/**
 * Deno's arguments to run a function: its deno.json resolved from node_modules without downloads, the network only for the
 * given hosts, only its own environment variables, no files, no processes.
 *
 * @param hosts `host:port` it may connect to, besides its own address
 * @param project the folder whose `supabase` folder has the function
 */
export function functionArguments(
  name: FunctionName,
  port: number,
  hosts: string[] | "anywhere",
  project = PROJECT_ROOT,
): string[] {
  const folder = join(project, "supabase/functions", name);
  return [
    "run",
    "--no-prompt",
    "--cached-only",
    "--node-modules-dir=manual",
    `--config=${join(folder, "deno.json")}`,
    hosts === "anywhere" ? "--allow-net" : `--allow-net=${[`127.0.0.1:${port}`, ...hosts].join(",")}`,
    `--allow-env=${FUNCTION_VARIABLES[name].join(",")}`,
    join(folder, "index.ts"),
  ];
}
