import { existsSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { runProgram } from "../tools/run-command.ts";

export const RUNTIMES_FOLDER = join(PROJECT_ROOT, "test/support/runtimes");

/** The folder of a Node's programs. */
export const nodeBin = (major: number) => join(RUNTIMES_FOLDER, "node_modules", `node-${major}`, "bin");

/** What a program prints. Throws it when the program fails. */
export async function said(
  program: string,
  args: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  const ended = await runProgram(program, args, { ...Deno.env.toObject(), ...env }, cwd).ended;
  if (ended.code !== 0) throw new Error(`${program} ${args.join(" ")} exited with ${ended.code}: ${ended.output}`);
  return ended.said;
}

/** Once for all files of `npm test -- --mode runtimes`. */
export async function setup(): Promise<void> {
  if (existsSync(join(RUNTIMES_FOLDER, "node_modules"))) return;
  // Not `npm ci`: it refuses a lock file without an optional package that its registry does not have.
  await said("npm", ["install", "--no-save"], RUNTIMES_FOLDER);
}
