import { join } from "node:path";
import { PROJECT_ROOT } from "./project-root.ts";

/** The edge functions, by the name in their address and of their folder. */
export const FUNCTION_NAMES = ["api", "generate", "replicate-webhook"] as const;
export type FunctionName = (typeof FUNCTION_NAMES)[number];

/**
 * How Deno runs a function here: its own deno.json resolved from node_modules (nothing is fetched), the network only
 * where it has business, only its own variables of the environment, no files, no processes.
 *
 * @param hosts `host:port` it may connect to, beside its own address
 */
export function functionArguments(name: FunctionName, port: number, hosts: string[], variables: string[]): string[] {
  const folder = join(PROJECT_ROOT, "supabase/functions", name);
  return [
    "run",
    "--no-prompt",
    "--cached-only",
    "--node-modules-dir=manual",
    `--config=${join(folder, "deno.json")}`,
    `--allow-net=${[`127.0.0.1:${port}`, ...hosts].join(",")}`,
    `--allow-env=${variables.join(",")}`,
    join(folder, "index.ts"),
  ];
}
