import { join } from "node:path";
import { apiEnvironment } from "../../supabase/functions/api/environment.ts";
import { deliverEnvironment } from "../../supabase/functions/keyframe-deliver/environment.ts";
import { generateEnvironment } from "../../supabase/functions/keyframe-generate/environment.ts";
import { webhookEnvironment } from "../../supabase/functions/keyframe-replicate-webhook/environment.ts";
import { PROJECT_ROOT } from "./project-root.ts";

/** The edge functions, by the name in their address and of their folder. */
export const FUNCTION_NAMES = ["api", "keyframe-generate", "keyframe-replicate-webhook", "keyframe-deliver"] as const;
export type FunctionName = (typeof FUNCTION_NAMES)[number];

/** What each function reads of its environment; it may see nothing else. */
export const FUNCTION_VARIABLES: Record<FunctionName, string[]> = {
  api: Object.keys(apiEnvironment.shape),
  "keyframe-generate": Object.keys(generateEnvironment.shape),
  "keyframe-replicate-webhook": Object.keys(webhookEnvironment.shape),
  "keyframe-deliver": Object.keys(deliverEnvironment.shape),
};

/**
 * How Deno runs a function here: its own deno.json resolved from node_modules (nothing is fetched), the network only
 * where it has business, only its own variables of the environment, no files, no processes.
 *
 * @param hosts `host:port` it may connect to, beside its own address; "anywhere" for one whose business is with receivers
 */
export function functionArguments(name: FunctionName, port: number, hosts: string[] | "anywhere"): string[] {
  const folder = join(PROJECT_ROOT, "supabase/functions", name);
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
