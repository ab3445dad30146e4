import { join } from "node:path";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

/** Packs client/ as npm publishes it, and unpacks the tarball into the app's node_modules. */
export async function installClient(app: string): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-client-" });
  try {
    const tarball = await packClient(folder);
    const installed = join(app, "node_modules/keyframe-client");
    await Deno.remove(installed, { recursive: true }).catch(() => undefined);
    await Deno.mkdir(installed, { recursive: true });
    await run("tar", ["-xzf", tarball, "-C", installed, "--strip-components", "1"], folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Packs client/ as npm publishes it. Returns the tarball's path, which is in the folder. */
export async function packClient(folder: string): Promise<string> {
  // A separate copy, because its build replaces dist/ while another one may be packing.
  const copy = await Deno.makeTempDir({ prefix: "keyframe-client-" });
  try {
    for (const part of ["client", "shared/http", "shared/media"]) {
      await Deno.mkdir(join(copy, part), { recursive: true });
      for await (const { name, isFile } of Deno.readDir(join(PROJECT_ROOT, part))) {
        if (isFile) await Deno.copyFile(join(PROJECT_ROOT, part, name), join(copy, part, name));
      }
    }
    await Deno.copyFile(join(PROJECT_ROOT, "package.json"), join(copy, "package.json")); // which says what modules are
    await Deno.symlink(join(PROJECT_ROOT, "node_modules"), join(copy, "node_modules")); // React's types
    await run("npm", ["pack", "--silent", "--pack-destination", folder], join(copy, "client"));
    const { version } = JSON.parse(await Deno.readTextFile(join(copy, "client/package.json")));
    return join(folder, `keyframe-client-${version}.tgz`);
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

async function run(program: string, args: string[], cwd: string): Promise<void> {
  const PATH = `${join(PROJECT_ROOT, "node_modules/.bin")}:${Deno.env.get("PATH")}`;
  const { success, stdout, stderr } = await new Deno.Command(program, { args, cwd, env: { PATH } }).output();
  if (success) return;
  const said = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
  throw new Error(`${program} ${args[0]} failed:\n${said}`);
}
