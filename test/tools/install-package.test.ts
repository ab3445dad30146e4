import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { filesOfFunction } from "../support/tools/deploy-graph.ts";
import { type AppRepository, copyOf, initApp } from "../support/tools/install-apps.ts";

// npx and the Supabase CLI start slowly on a busy machine.

const run = promisify(execFile);

let folder: string;
let tarball: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-package-test-"));
  await run(Deno.execPath(), ["run", "-A", join(PROJECT_ROOT, "tools/package.ts"), folder]);
  const [packed = "", ...more] = (await readdir(folder)).filter((name) => name !== "node_modules");
  expect(more).toEqual([]);
  tarball = join(folder, packed);
});
afterAll(() => rm(folder, { recursive: true }));

test("the package → has the command, the migrations and the functions with what they import, and nothing else", async () => {
  const { stdout } = await run("tar", ["tzf", tarball]);
  const graphs = await Promise.all(FUNCTION_NAMES.map((name) => filesOfFunction(name)));
  const migrations = await readdir(join(PROJECT_ROOT, "supabase/migrations"));
  expect(stdout.trim().split("\n").sort()).toEqual(
    [
      ...new Set(graphs.flat()),
      ...migrations.map((file) => `supabase/migrations/${file}`),
      // Types that no module imports.
      "supabase/functions/keyframe-deliver/send/undici-client.d.ts",
      "supabase/config.toml",
      "tools/install.js",
      "tools/install/remove.sql",
      ...["agents", "costs", "deploy", "install"].map((name) => `docs/${name}.md`), // those that the command names
      "package.json",
      "LICENSE",
      "README.md",
    ]
      .map((path) => `package/${path}`)
      .sort(),
  );
  const { stdout: described } = await run("tar", ["xzOf", tarball, "package/package.json"]);
  expect(JSON.parse(described)).toMatchObject({ name: "keyframe-supabase", bin: "tools/install.js" });
  expect(described).not.toContain("dependencies");
  const { stdout: bundled } = await run("tar", ["xzOf", tarball, "package/tools/install.js"]);
  expect(bundled).toContain("SPDX-License-Identifier: BSD-3-Clause");
  const named = [...bundled.matchAll(/docs\/[a-z-]+\.md/g)].map(([path]) => `package/${path}`);
  expect(stdout.split("\n")).toEqual(expect.arrayContaining(named));
});

test("npx with the package, on Node and without a network → copies what the checkout's command copies; and removes it", async () => {
  const byNpx = await initApp(folder, "by-npx", { HOME: folder });
  const byClone = await copyOf(byNpx, "by-clone");
  await run("npx", ["--yes", "--offline", `--package=${tarball}`, "keyframe-supabase", "add"], {
    cwd: byNpx.folder,
    env: { ...Deno.env.toObject(), npm_config_cache: join(folder, "npm") },
  });
  expect(await byClone.install(["add"])).toMatchObject({ code: 0 });
  const copied = async (app: AppRepository) =>
    new Map([...(await app.files())].map(([path, text]) => [path.replace(/\/\d{14}_/, "/"), text]));
  expect(await copied(byNpx)).toEqual(await copied(byClone));

  // npx takes some seconds to start.
  await run("tar", ["xzf", tarball, "-C", folder]);
  const installed = (...args: string[]) =>
    run("node", [join(folder, "package/tools/install.js"), ...args], { cwd: byNpx.folder });
  const { version } = JSON.parse(await readFile(join(PROJECT_ROOT, "package.json"), "utf8"));
  expect((await installed("--version")).stdout).toBe(`${version}\n`);
  await installed("remove", "--yes");
  expect((await readFile(join(byNpx.folder, "supabase/config.toml"), "utf8")).includes("keyframe")).toBe(false);
});
