import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { build } from "vite";
import { outputOf } from "../command-line/output-of.ts";
import { parseOptions, runMain } from "../command-line/run-main.ts";
import { PROJECT_ROOT } from "../local/stack/project-root.ts";
import { listFiles, readSource } from "./install/source.ts";

const HELP = `npm run package -- [folder]   packs keyframe-supabase-<version>.tgz, the package of npx keyframe-supabase add

  folder   where to put it (default .keyframe)`;

/**
 * The package runs on Node, which removes no types in node_modules: so the command is bundled to one file of JavaScript, and the
 * package has no dependencies.
 */
async function main(): Promise<number> {
  const [target = join(PROJECT_ROOT, ".keyframe")] = parseOptions({
    args: Deno.args,
    allowPositionals: true,
  }).positionals;
  const { code, version } = await readSource(PROJECT_ROOT);
  const migrations = await listFiles(PROJECT_ROOT, "supabase/migrations");

  await mkdir(target, { recursive: true });
  const folder = await mkdtemp(join(tmpdir(), "keyframe-supabase-"));
  for (const path of [...code.keys(), ...migrations, "supabase/config.toml", "tools/install/remove.sql", "LICENSE"]) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await cp(join(PROJECT_ROOT, path), join(folder, path));
  }
  await cp(join(PROJECT_ROOT, "tools/install/README.md"), join(folder, "README.md"));
  const { homepage, bugs, repository, license } = JSON.parse(
    await readFile(join(PROJECT_ROOT, "package.json"), "utf8"),
  );
  const described = {
    name: "keyframe-supabase",
    version,
    description: "Adds Keyframe, the open-source backend for AI film-making apps, to your Supabase project.",
    keywords: ["supabase", "replicate", "video", "ai", "keyframe"],
    homepage,
    bugs,
    repository,
    license,
    type: "module",
    bin: { "keyframe-supabase": "tools/install.js" },
    engines: { node: ">=20.12" },
    publishConfig: { access: "public", provenance: true },
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(described, null, 2)}\n`);
  await build({
    configFile: false,
    root: PROJECT_ROOT,
    logLevel: "warn",
    ssr: { noExternal: true },
    build: {
      ssr: "tools/install.ts",
      outDir: join(folder, "tools"),
      emptyOutDir: false,
      target: "node20",
      minify: false,
      rolldownOptions: { output: { entryFileNames: "install.js", banner: "#!/usr/bin/env node" } },
    },
  });

  const command = await readFile(join(folder, "tools/install.js"), "utf8");
  await mkdir(join(folder, "docs"));
  // Copies the pages that the command's messages name.
  for (const [path] of command.matchAll(/docs\/[a-z-]+\.md/g)) await cp(join(PROJECT_ROOT, path), join(folder, path));

  const printed = await outputOf("npm", ["pack", "--json", "--pack-destination", resolve(target)], { cwd: folder });
  const [packed] = JSON.parse(printed) as { filename: string; size: number }[];
  await rm(folder, { recursive: true });
  console.log(`${join(target, packed?.filename ?? "")} (${Math.round((packed?.size ?? 0) / 1024)} KiB)`);
  return 0;
}

runMain(HELP, main);
