import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";
import { functionEnvironments } from "../../shared/platform/environment.ts";

/** The names of the edge functions. Each function's folder and URL have its name. */
export type FunctionName = keyof typeof functionEnvironments;
export const FUNCTION_NAMES = Object.keys(functionEnvironments) as FunctionName[]; // functionEnvironments has no other keys

/** The limit of the hosted platform, whose runtime gives it to V8. With less memory than the machine has, V8 collects garbage far earlier. */
const MAX_HEAP_MB = 256;

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
    `--v8-flags=--max-heap-size=${MAX_HEAP_MB}`,
    "--cached-only",
    "--node-modules-dir=manual",
    `--config=${join(folder, "deno.json")}`,
    hosts === "anywhere" ? "--allow-net" : `--allow-net=${[`127.0.0.1:${port}`, ...hosts].join(",")}`,
    `--allow-env=${Object.keys(functionEnvironments[name].shape).join(",")}`,
    join(folder, "index.ts"),
  ];
}
