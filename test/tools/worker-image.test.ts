import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";

// No image is built here: what the Dockerfile copies is put into a folder, with the packages that npm installs there.

const read = (path: string) => Deno.readTextFile(join(PROJECT_ROOT, path));
const manifest = z.object({ devDependencies: z.record(z.string(), z.string()) });
const lock = z.object({
  packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional(), optional: z.boolean().optional() })),
});

/** A folder with the files of the image, as the Dockerfile's last stage makes them. */
async function makeImage(dockerfile: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "keyframe-image-" });
  onTestFinished(() => Deno.remove(folder, { recursive: true }));
  const run = async (command: string, ...args: string[]) => {
    const { success, stderr } = await new Deno.Command(command, { args, stderr: "piped" }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  };
  const [, stage = ""] = dockerfile.split("FROM denoland/deno");
  for (const [, from = "", to = ""] of stage.matchAll(/^COPY ([\w./-]+) ([\w./-]+)$/gm)) {
    await Deno.mkdir(join(folder, to, ".."), { recursive: true });
    if (to.endsWith("/")) await Deno.mkdir(join(folder, to), { recursive: true });
    await run("cp", "-r", join(PROJECT_ROOT, from), join(folder, to));
  }
  const { packages } = lock.parse(JSON.parse(await read("package-lock.json")));
  for (const [path, { dev, optional }] of Object.entries(packages)) {
    if (dev || optional || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue;
    await Deno.mkdir(join(folder, path, ".."), { recursive: true });
    await run("cp", "-r", join(PROJECT_ROOT, path), join(folder, path));
  }
  return folder;
}

test("the Dockerfile → has this Deno, and every file and package that the process imports, also later", async () => {
  const dockerfile = await read("worker/Dockerfile");
  const { devDependencies } = manifest.parse(JSON.parse(await read("package.json")));
  expect(dockerfile).toContain(`FROM denoland/deno:${devDependencies.deno}\n`);
  const folder = await makeImage(dockerfile);
  const given = z.array(z.string()).parse(JSON.parse(/^CMD (.+)$/m.exec(dockerfile)?.[1] ?? ""));
  const parts = [...Deno.readDirSync(folder)].map(({ name }) => name);
  expect(parts.toSorted()).toEqual(["command-line", "node_modules", "package.json", "shared", "supabase", "worker"]);
  const command = (args: string[], env: Record<string, string> = {}) =>
    new Deno.Command(Deno.execPath(), {
      args,
      cwd: folder,
      clearEnv: true,
      env: { DENO_DIR: join(folder, "deno"), NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", ...env },
      stdout: "piped",
      stderr: "piped",
    }).output();
  const { code, stderr } = await command(given);
  expect([code, new TextDecoder().decode(stderr)]).toEqual([
    1,
    expect.stringMatching(/^Environment: SUPABASE_URL is missing; .*KEYFRAME_REPLICATE_API_TOKEN is missing\.\n$/),
  ]);
  await Deno.writeTextFile(join(folder, "later.ts"), 'import "./supabase/functions/keyframe-deliver/send/attempt.ts";');
  const later = await command([...given.slice(0, -1), "later.ts"]);
  expect([later.code, new TextDecoder().decode(later.stderr)]).toEqual([0, ""]);
}, 60_000);
