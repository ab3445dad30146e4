import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { PROJECT_ROOT } from "../../../local/stack/project-root.ts";
import { inTurn, runBurst, sendOne } from "../deliver/runs.ts";
import { openScene } from "../deliver/scene.ts";
import { keyframeWay } from "../deliver/ways.ts";
import { openBenchStack } from "../stack.ts";
import { makeUsers } from "../users.ts";

/** What drives a version: each by its own. */
export const THIS_LAB = { openBenchStack, makeUsers, openScene, keyframeWay, inTurn, runBurst, sendOne };
export type Lab = typeof THIS_LAB;

export const LAB_FILES: Record<keyof Lab, string> = {
  openBenchStack: "lab/bench/stack.ts",
  makeUsers: "lab/bench/users.ts",
  openScene: "lab/bench/deliver/scene.ts",
  keyframeWay: "lab/bench/deliver/ways.ts",
  inTurn: "lab/bench/deliver/runs.ts",
  runBurst: "lab/bench/deliver/runs.ts",
  sendOne: "lab/bench/deliver/runs.ts",
};

/** Checks a commit out in a temporary folder, with its packages, and loads these functions of its files into this process. */
export async function openVersion<Loaded>(
  commit: string,
  files: Record<keyof Loaded, string>,
  signal: AbortSignal,
): Promise<{ lab: Loaded; remove(): Promise<void> }> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-version-" });
  await Deno.chmod(folder, 0o755); // for the user that runs Postgres
  const git = (...args: string[]) => run("git", ["-C", PROJECT_ROOT, "worktree", ...args]);
  const remove = async () => {
    await Deno.remove(folder, { recursive: true }); // the link to our packages, not what it leads to
    await git("prune");
  };
  try {
    await git("add", "--detach", folder, commit);
    for (const [name, file] of Object.entries<string>(files))
      if (!existsSync(join(folder, file))) throw missing(commit, name, file);
    const lock = (root: string) => Deno.readTextFile(join(root, "package-lock.json"));
    if ((await lock(folder)) === (await lock(PROJECT_ROOT)))
      await Deno.symlink(join(PROJECT_ROOT, "node_modules"), join(folder, "node_modules"));
    else {
      console.error(`Installing the packages of ${commit} (npm ci), about half a minute …`);
      await run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder, signal });
    }
    return { lab: await load(folder, commit, files), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function load<Loaded>(folder: string, commit: string, files: Record<keyof Loaded, string>): Promise<Loaded> {
  const loaded = Object.entries<string>(files).map(async ([name, file]) => {
    const module = await import(pathToFileURL(join(folder, file)).href);
    if (typeof module[name] !== "function") throw missing(commit, name, file);
    return [name, module[name]];
  });
  return Object.fromEntries(await Promise.all(loaded)) as Loaded; // its functions get what its own functions returned
}

const missing = (commit: string, name: string, file: string) =>
  new Error(`${commit} has no ${name} in ${file}: measure it with its own lab.`);

async function run(program: string, args: string[], options: Deno.CommandOptions = {}): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, ...options }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}
