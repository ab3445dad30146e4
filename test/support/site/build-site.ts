import { runProgram } from "../tools/run-command.ts";

/** As on GitHub Pages, where a project has a folder of its host. */
export const BASE = "/keyframe/";

/** Builds the site once for all files. npm, because the command installs what only the site needs. */
export async function setup(): Promise<void> {
  const { code, output } = await runProgram("npm", ["run", "site", "--", "--only-build", "--base", BASE]).ended;
  if (code !== 0) throw new Error(`The site could not be built:\n${output}`);
}
