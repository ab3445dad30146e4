import { execFileSync } from "node:child_process";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

/** The folders of these tests whose packages a clone does not carry. */
export const FOLDERS = ["test/release", "lab/bench/peers"];

/** Once for all files of `npm test -- --mode release`. */
export function setup(): void {
  for (const folder of FOLDERS)
    execFileSync("node", ["local/install-missing.mjs", folder], { cwd: PROJECT_ROOT, stdio: "inherit" });
}
