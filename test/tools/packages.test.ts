import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";
import { PROJECT_ROOT } from "../../local/stack/project-root.ts";
import { packClient } from "../../tools/starter/install-client.ts";
import { filesOfFunction } from "../support/tools/deploy-graph.ts";
import { type AppRepository, copyOf, initApp } from "../support/tools/install-apps.ts";

// Both packages as npm gets them. What the client's modules import, and its types in an app: test/e2e/client.test.ts; by every way to
// import them: test/release/client-types.test.ts. In each runtime: test/runtimes/packages.test.ts.

const run = promisify(execFile);

let folder: string;
let clientTarball: string;
let tarball: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keyframe-package-test-"));
  await mkdir(join(folder, "keyframe-supabase")); // somebody's own
  await run(Deno.execPath(), ["run", "-A", join(PROJECT_ROOT, "tools/package.ts"), folder]);
  const [own, packed = "", ...more] = (await readdir(folder)).filter((name) => name !== "node_modules").sort();
  expect([own, more]).toEqual(["keyframe-supabase", []]);
  await rm(join(folder, "keyframe-supabase"), { recursive: true });
  tarball = join(folder, packed);
  clientTarball = await packClient(folder);
});
afterAll(() => rm(folder, { recursive: true }));

describe.each([
  ["keyframe-client", "/tree/main/client", { directory: "client" }],
  ["keyframe-supabase", "", {}],
])("the package %s", (name, page, place) => {
  let unpacked: string;
  let manifest: Record<string, unknown>;
  beforeAll(async () => {
    unpacked = join(folder, name);
    await mkdir(unpacked);
    await run("tar", ["xzf", name === "keyframe-client" ? clientTarball : tarball, "-C", unpacked]);
    // As after `npm run set-owner`, which publishing needs.
    const file = join(unpacked, "package/package.json");
    const text = (await readFile(file, "utf8")).replaceAll("<owner>", "somebody");
    await writeFile(file, text);
    manifest = JSON.parse(text);
  });

  test("a package's package.json → source, licence and runtimes, published with provenance; no dependencies, no scripts", async () => {
    const { version, homepage, repository } = JSON.parse(
      (await readFile(join(PROJECT_ROOT, "package.json"), "utf8")).replaceAll("<owner>", "somebody"),
    );
    const address = homepage.replace("#readme", "");
    expect(address).toMatch(/^https:\/\/github\.com\/[\w-]+\/keyframe$/);
    expect(repository).toEqual({ type: "git", url: `git+${address}.git` });
    expect(manifest).toMatchObject({
      ...{ name, version, license: "MIT", type: "module" },
      homepage: `${address}${page}#readme`,
      bugs: { url: `${address}/issues` },
      repository: { ...repository, ...place },
      keywords: expect.arrayContaining(["keyframe", "supabase", "replicate"]),
      engines: { node: expect.stringMatching(/^>=20/) },
      publishConfig: { access: "public", provenance: true },
    });
    expect([manifest.dependencies, Object.keys(manifest.scripts ?? {}).filter((one) => one !== "prepack")]).toEqual([
      undefined,
      [],
    ]);
  });

  test("publint and npm pkg fix on a package → find nothing to change", async () => {
    const { messages } = await publint({ pkgDir: join(unpacked, "package"), pack: false, strict: true });
    expect(messages).toEqual([]);
    await run("npm", ["pkg", "fix"], { cwd: join(unpacked, "package") });
    expect(JSON.parse(await readFile(join(unpacked, "package/package.json"), "utf8"))).toEqual(manifest);
  });
});

test("the package keyframe-supabase → has the command, migrations and functions with their imports, and nothing else", async () => {
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
      ...["agents", "costs", "deploy", "going-live", "install"].map((name) => `docs/${name}.md`), // those that the command names
      "package.json",
      "LICENSE",
      "README.md",
    ]
      .map((path) => `package/${path}`)
      .sort(),
  );
  const { stdout: described } = await run("tar", ["xzOf", tarball, "package/package.json"]);
  expect(JSON.parse(described)).toMatchObject({ bin: { "keyframe-supabase": "tools/install.js" } });
  const { stdout: bundled } = await run("tar", ["xzOf", tarball, "package/tools/install.js"]);
  expect(bundled).toContain("SPDX-License-Identifier: BSD-3-Clause");
  const named = [...bundled.matchAll(/docs\/[a-z-]+\.md/g)].map(([path]) => `package/${path}`);
  expect(stdout.split("\n")).toEqual(expect.arrayContaining(named));
});

test("npx with keyframe-supabase, on Node and without a network → copies what the checkout's command does; and removes it", async () => {
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
