import { join } from "node:path";
import { outputOf } from "../../command-line/output-of.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

/** Packs client/ as npm publishes it, and unpacks the tarball into the app's node_modules. */
export async function installClient(app: string): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-client-" });
  try {
    const tarball = await packClient(folder);
    const installed = join(app, "node_modules/keyframe-client");
    await Deno.remove(installed, { recursive: true }).catch(() => undefined);
    await Deno.mkdir(installed, { recursive: true });
    await outputOf("tar", ["-xzf", tarball, "-C", installed, "--strip-components", "1"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Packs client/ as npm publishes it. Returns the tarball's path, which is in the folder. */
export async function packClient(folder: string): Promise<string> {
  // The package is built in a copy: the build replaces dist/, while another one may be packing.
  const copy = await Deno.makeTempDir({ prefix: "keyframe-client-" });
  try {
    for (const part of ["client", "client/film", "shared/http", "shared/media"]) {
      await Deno.mkdir(join(copy, part), { recursive: true });
      for await (const { name, isFile } of Deno.readDir(join(PROJECT_ROOT, part))) {
        if (isFile) await Deno.copyFile(join(PROJECT_ROOT, part, name), join(copy, part, name));
      }
    }
    await Deno.copyFile(join(PROJECT_ROOT, "package.json"), join(copy, "package.json")); // has the type of the modules
    await Deno.symlink(join(PROJECT_ROOT, "node_modules"), join(copy, "node_modules")); // React's types
    const PATH = `${join(PROJECT_ROOT, "node_modules/.bin")}:${Deno.env.get("PATH")}`;
    const place = { cwd: join(copy, "client"), env: { PATH } };
    await outputOf("npm", ["pack", "--silent", "--pack-destination", folder], place);
    const { version } = JSON.parse(await Deno.readTextFile(join(copy, "client/package.json")));
    return join(folder, `keyframe-client-${version}.tgz`);
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}
