import { readdir, readFile } from "node:fs/promises";
import { posix } from "node:path";
import { join } from "node:path";
import { parse } from "smol-toml";

/** An error whose message is one line that says what to do. */
export class InstallError extends Error {
  override name = "InstallError";
}

/** The settings of each function in config.toml, by name. */
type FunctionTables = Record<string, Record<string, string | boolean>>;

/** The files for an app, read from a checkout or from the package. Paths are relative, with slashes. */
export type Source = {
  version: string;
  /** Path → text, of the functions and the shared code they import. */
  code: Map<string, string>;
  /** `0_1_0`, the version in a file's name → text of its migration, in order. */
  migrations: Map<string, string>;
  functions: FunctionTables;
  schemas: string[];
  removeSql: string;
};

/** A file's text. Line ends are those of Linux, because git may have changed them. */
export const readText = async (...path: string[]): Promise<string> =>
  (await readFile(join(...path), "utf8")).replaceAll("\r\n", "\n");

/**
 * The files and links below a folder, in order; none when it does not exist. Paths are relative to `root`. Throws when any folder below
 * cannot be read: what the app has there, or beside it, would be mistaken for free.
 */
export async function listFiles(root: string, folder: string): Promise<string[]> {
  // `recursive` is not used: Yarn's Plug'n'Play, which serves packages from their archives, gives each file the first folder as its place.
  const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    if (/^(ENOENT|ENOTDIR)\b/.test(reason)) return [];
    throw new InstallError(
      `${folder} cannot be read (${reason}), so nothing was changed: correct that and run the command again.`,
    );
  });
  const found = entries.map(async (entry) => {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) return await listFiles(root, path);
    return entry.isFile() || entry.isSymbolicLink() ? [path] : [];
  });
  return (await Promise.all(found)).flat().sort();
}

/** The part of a migration's file name between timestamp and ending; undefined for another file. */
export const migrationName = (file: string): string | undefined => /^\d+_(.+)\.sql$/.exec(file)?.[1];

export async function readSource(root: string): Promise<Source> {
  const { version } = JSON.parse(await readText(root, "package.json")) as { version: string };
  // The cast is safe: this is our own file, and tests check its form.
  const config = parse(await readText(root, "supabase/config.toml")) as unknown as {
    api: { schemas: string[] };
    functions: FunctionTables;
  };
  const migrations = new Map<string, string>();
  for (const file of (await readdir(join(root, "supabase/migrations"))).sort()) {
    const version = /^keyframe_(.+)$/.exec(migrationName(file) ?? "")?.[1];
    if (version !== undefined) migrations.set(version, await readText(root, "supabase/migrations", file));
  }
  return {
    version,
    code: await readCode(root, Object.keys(config.functions)),
    migrations,
    functions: config.functions,
    schemas: config.api.schemas.filter((name) => name.startsWith("keyframe")),
    removeSql: await readText(root, "tools/install/remove.sql"),
  };
}

const IMPORTED = /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g;

/** The files of the functions, and every file that they import directly or indirectly. */
async function readCode(root: string, functions: string[]): Promise<Map<string, string>> {
  const code = new Map<string, string>();
  const pending = (await Promise.all(functions.map((name) => listFiles(root, `supabase/functions/${name}`)))).flat();
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (code.has(path)) continue;
    const text = await readText(root, path);
    code.set(path, text);
    if (!path.endsWith(".ts")) continue;
    for (const [, imported = ""] of text.matchAll(IMPORTED)) pending.push(posix.join(posix.dirname(path), imported));
  }
  return new Map([...code].sort(([a], [b]) => (a < b ? -1 : 1)));
}
