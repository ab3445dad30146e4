import { cp, mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";

/** Copies the files that a clone would have if all of this checkout were committed. node_modules is linked. */
export async function copyCheckout(target: string): Promise<void> {
  const { stdout } = await new Deno.Command("git", {
    args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    cwd: PROJECT_ROOT,
  }).output();
  for (const path of new TextDecoder().decode(stdout).split("\0").filter(Boolean)) {
    // A file that is deleted and not yet committed is listed too.
    if (!(await Deno.lstat(join(PROJECT_ROOT, path)).catch(() => undefined))) continue;
    await mkdir(dirname(join(target, path)), { recursive: true });
    await cp(join(PROJECT_ROOT, path), join(target, path), { verbatimSymlinks: true });
  }
  await symlink(join(PROJECT_ROOT, "node_modules"), join(target, "node_modules"));
}
